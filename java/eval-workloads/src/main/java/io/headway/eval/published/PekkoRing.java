package io.headway.eval.published;

import io.headway.eval.Mix;
import io.headway.eval.Work;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.AbstractActor;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.Props;

/**
 * Apache Pekko: rings of actors on its default dispatcher, a fork-join pool. An operation is a token that runs
 * a thousand hops, each with a little work; the thread that sent it waits for it.
 */
public final class PekkoRing implements Work {
    private static final int ACTORS = 50;
    private static final int HOPS = 1_000;
    private static final int STEPS = 500;

    private final ActorSystem system = ActorSystem.create("eval");

    @Override
    public Operation operation(int thread, int threads) {
        ActorRef first = system.actorOf(Props.create(Member.class, () -> new Member(null)));
        ActorRef last = first;
        for (int i = 1; i < ACTORS; i++) {
            ActorRef next = last;
            last = system.actorOf(Props.create(Member.class, () -> new Member(next)));
        }
        first.tell(new Next(last), ActorRef.noSender());
        ActorRef start = last;
        return () -> {
            CompletableFuture<Long> back = new CompletableFuture<>();
            start.tell(new Token(HOPS, thread + 1L, back), ActorRef.noSender());
            back.join();
        };
    }

    @Override
    public boolean hasLatency() {
        return true;
    }

    /** Gives an actor the one to send to, which closes the ring. */
    private record Next(ActorRef actor) {}

    private record Token(int left, long state, CompletableFuture<Long> back) {}

    private static final class Member extends AbstractActor {
        private ActorRef next;

        Member(ActorRef next) {
            this.next = next;
        }

        @Override
        public Receive createReceive() {
            return receiveBuilder().match(Token.class, this::pass).match(Next.class, told -> next = told.actor()).build();
        }

        private void pass(Token token) {
            long state = Mix.steps(token.state(), STEPS);
            if (token.left() == 0) {
                token.back().complete(state);
            } else {
                next.tell(new Token(token.left() - 1, state, token.back()), getSelf());
            }
        }
    }
}
