package io.headway.workloads.parks;

import io.headway.workloads.ThreadKind;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Plays an {@link Act}: in each round all waiters park, the holder lets them wait, and releases them.
 * The holder sees on what a waiter parks (the JDK says that of any thread), so that the truth does not
 * come from whoever is tested. Between the rounds everybody sleeps and nobody parks.
 */
final class Choreography {
    /** Until whoever was woken has parked again, or given up. */
    static final long SETTLE_MS = 20;

    private final String name;
    private final Act act;
    private final List<Waiter> waiters = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile int round;
    private volatile Throwable failure;

    Choreography(String name, Act act, int count, ThreadKind kind) {
        this.name = name;
        this.act = act;
        for (int i = 1; i <= count; i++) {
            Waiter waiter = new Waiter(name + "-" + i);
            waiters.add(waiter);
            threads.add(kind.unstarted(waiter.thread, () -> play(waiter)));
        }
    }

    /** Plays so many rounds on the current thread as holder; the truth of each waiter. */
    List<Waiter> play(int rounds, long waitMs) throws Exception {
        threads.forEach(Thread::start);
        for (int i = 1; i <= rounds; i++) {
            act.prepare();
            round = i;
            if (act.outcome() == Act.Outcome.TIMED_OUT) {
                observeUntilDone(i);
            } else {
                awaitParked();
                observe();
                long seen = System.nanoTime();
                sleep(waitMs);
                long waited = System.nanoTime() - seen;
                waiters.forEach(waiter -> waiter.sawParked(waited));
            }
            act.release(threads);
            awaitDone(i);
        }
        round = -1;
        for (Thread thread : threads) {
            while (thread.isAlive()) {
                pause();
            }
        }
        return waiters;
    }

    private void play(Waiter waiter) {
        try {
            for (int i = 1; awaitRound(i); i++) {
                long start = System.nanoTime();
                act.block();
                waiter.add(System.nanoTime() - start, act);
                waiter.done = i;
            }
        } catch (Throwable e) {
            failure = e;
        }
    }

    private boolean awaitRound(int wanted) {
        while (round < wanted) {
            if (round < 0) {
                return false;
            }
            pause();
        }
        return true;
    }

    private void awaitDone(int wanted) {
        for (Waiter waiter : waiters) {
            while (waiter.done < wanted) {
                complain();
                pause();
            }
        }
    }

    private void awaitParked() {
        for (Thread thread : threads) {
            while (thread.getState() != Thread.State.WAITING || act.named() && LockSupport.getBlocker(thread) == null) {
                complain();
                pause();
            }
        }
    }

    private void observeUntilDone(int wanted) {
        while (waiters.stream().anyMatch(waiter -> waiter.done < wanted)) {
            complain();
            observe();
            pause();
        }
    }

    private void complain() {
        if (failure != null) {
            throw new IllegalStateException("a waiter of " + name + " failed", failure);
        }
    }

    private void observe() {
        for (int i = 0; i < waiters.size(); i++) {
            Object blocker = LockSupport.getBlocker(threads.get(i));
            if (blocker != null) {
                waiters.get(i).blockerClass = blocker.getClass().getName();
            }
        }
    }

    /**
     * Lets a little time pass without parking. A sleep would do for platform threads, but a virtual
     * thread's sleep ends with a permit that lets its next park return at once.
     */
    static void pause() {
        Object nobodyElses = new Object();
        try {
            synchronized (nobodyElses) {
                nobodyElses.wait(1);
            }
        } catch (InterruptedException e) {
            // Meant for a park that was over already.
            Thread.interrupted();
        }
    }

    /** Lets time pass without parking, see {@link #pause}. */
    static void sleep(long ms) {
        long end = System.nanoTime() + ms * 1_000_000;
        while (System.nanoTime() - end < 0) {
            pause();
        }
    }

    /**
     * What a waiter measured: {@code parkedNs} from before its call to after it, which is more than it
     * parked where it spins first or waits for a processor; and what the holder saw it parked.
     */
    static final class Waiter {
        final String thread;
        volatile int done;
        volatile String blockerClass;
        long parkedNs;
        long atLeastNs;
        int parks;
        int unparked;
        int timedOut;
        int interrupted;

        Waiter(String thread) {
            this.thread = thread;
        }

        private void sawParked(long ns) {
            atLeastNs += ns;
        }

        private void add(long ns, Act act) {
            parkedNs += ns;
            parks += act.parks();
            unparked += act.parks() - 1;
            switch (act.outcome()) {
                case UNPARKED -> unparked++;
                case TIMED_OUT -> timedOut++;
                case INTERRUPTED -> interrupted++;
                default -> throw new AssertionError(act.outcome());
            }
        }
    }
}
