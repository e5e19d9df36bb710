package io.headway.workloads.parks;

import java.util.List;

/** One way to park, played again and again: who holds, who waits, how it ends. */
abstract class Act {
    /** How a park ends, as truths name it. */
    enum Outcome {
        UNPARKED,
        TIMED_OUT,
        INTERRUPTED
    }

    /** Runs on the holder before the waiters come. */
    void prepare() throws Exception {}

    /** Runs on a waiter, and parks: {@link #parks} times, if nothing goes wrong. */
    abstract void block() throws Exception;

    /** Runs on the holder when all waiters are parked and the time to wait is over. */
    void release(List<Thread> waiters) throws Exception {}

    /** True if the holder is the blocker's exclusive owner while the waiters park. */
    boolean owned() {
        return false;
    }

    /** How the last park of {@link #block} ends. */
    Outcome outcome() {
        return Outcome.UNPARKED;
    }

    /** How often a waiter parks. */
    int parks() {
        return 1;
    }

    /** True if waiters name what they park on. */
    boolean named() {
        return true;
    }

    /** What is done in an act's part. */
    interface Step {
        /** Does it. */
        void run() throws Exception;
    }

    /** An act of three steps. */
    static Act of(Step prepare, Step block, Step release) {
        return new Steps(prepare, block, release, false);
    }

    /** The same, where the holder owns the blocker. */
    static Act owned(Step prepare, Step block, Step release) {
        return new Steps(prepare, block, release, true);
    }

    private static final class Steps extends Act {
        private final Step prepare;
        private final Step block;
        private final Step release;
        private final boolean owned;

        Steps(Step prepare, Step block, Step release, boolean owned) {
            this.prepare = prepare;
            this.block = block;
            this.release = release;
            this.owned = owned;
        }

        @Override
        void prepare() throws Exception {
            prepare.run();
        }

        @Override
        void block() throws Exception {
            block.run();
        }

        @Override
        void release(List<Thread> waiters) throws Exception {
            release.run();
        }

        @Override
        boolean owned() {
            return owned;
        }
    }
}
