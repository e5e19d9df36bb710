package io.headway.causes;

/**
 * A program that provokes a known cause.
 *
 * @param id of the entry of the catalogue
 * @param until the last JDK that has what the entry is about
 * @param workers threads that do the same
 * @param millis how long it runs at least
 * @param isCold the first call is what matters; elsewhere one call is made before, so that classes are loaded
 * @param setup makes what they do
 */
record Cause(String id, int until, int workers, int millis, boolean isCold, Setup setup) {
    private static final int ANY = 99;

    /** What a thread does over and over. */
    interface Task {
        /**
         * Does it once.
         *
         * @param worker number of the thread, from 0
         * @throws Exception the program failed and ends
         */
        void run(int worker) throws Exception;
    }

    /** Makes a task. */
    interface Setup {
        /**
         * Makes it.
         *
         * @return the task, ready
         * @throws Exception it cannot be made
         */
        Task make() throws Exception;
    }

    /** A program for all JDKs with six threads. */
    static Cause of(String id, Setup setup) {
        return new Cause(id, ANY, 6, 800, false, setup);
    }

    /** The same for JDKs up to this one. */
    Cause until(int release) {
        return new Cause(id, release, workers, millis, isCold, setup);
    }

    /** The same for longer: the lock is owned for microseconds, and threads are blocked on it by chance. */
    Cause byChance() {
        return new Cause(id, until, workers, 5000, isCold, setup);
    }

    /** The same without a first call. */
    Cause cold() {
        return new Cause(id, until, workers, millis, true, setup);
    }
}
