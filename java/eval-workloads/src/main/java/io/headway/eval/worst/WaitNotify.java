package io.headway.eval.worst;

import io.headway.eval.Work;

/** Pairs of threads that hand a turn to and fro with {@code wait} and {@code notify}. */
public final class WaitNotify implements Work {
    private Table last;

    @Override
    public boolean inPairs() {
        return true;
    }

    @Override
    public synchronized Operation operation(int thread, int threads) {
        Table table = thread % 2 == 0 ? new Table() : last;
        last = table;
        int own = thread % 2;
        return () -> table.play(own);
    }

    private static final class Table {
        private int turn;

        synchronized void play(int own) throws InterruptedException {
            while (turn != own) {
                wait();
            }
            turn = 1 - own;
            notify();
        }
    }
}
