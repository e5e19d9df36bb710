package io.headway.eval.worst;

import io.headway.eval.Work;
import java.util.concurrent.locks.LockSupport;

/** Pairs of threads that unpark each other in turns: as many parks as a machine gives. */
public final class ParkPingPong implements Work {
    private Player last;

    @Override
    public boolean inPairs() {
        return true;
    }

    @Override
    public synchronized Operation operation(int thread, int threads) {
        Player player = new Player(thread % 2 == 0 ? new Ball() : last.ball, thread % 2);
        last = player;
        return player;
    }

    /** What two players share: whose turn it is, and who they are. */
    private static final class Ball {
        private volatile int turn;
        private final Thread[] players = new Thread[2];
    }

    private static final class Player implements Operation {
        private final Ball ball;
        private final int own;

        Player(Ball ball, int own) {
            this.ball = ball;
            this.own = own;
        }

        @Override
        public void once() {
            ball.players[own] = Thread.currentThread();
            while (ball.turn != own) {
                LockSupport.park(ball);
            }
            ball.turn = 1 - own;
            // Before the other one's first turn it need not be woken: it looks at the turn first.
            LockSupport.unpark(ball.players[1 - own]);
        }
    }
}
