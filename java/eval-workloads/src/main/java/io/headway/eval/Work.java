package io.headway.eval;

/**
 * What a program of the evaluation does again and again. Made once; each of the threads asks for an
 * operation of its own, so that what threads share is shared on purpose.
 */
public interface Work {
    /**
     * The operation that one thread repeats.
     *
     * @param thread number of the thread, from 0
     * @param threads how many there are
     */
    Operation operation(int thread, int threads) throws Exception;

    /** True if single operations are requests, whose latencies are of interest. */
    default boolean hasLatency() {
        return false;
    }

    /** True if threads work in pairs, so that their number must be even. */
    default boolean inPairs() {
        return false;
    }

    /** The threads that do it. */
    default Crew crew(int threads) throws Exception {
        return new Workers(this, inPairs() ? threads + threads % 2 : threads);
    }

    /** One operation: a microsecond to some milliseconds. */
    interface Operation {
        /** Does it. */
        void once() throws Exception;

        /** How much work the last one was, where one is more than another; for example bytes of input. */
        default long units() {
            return 1;
        }
    }
}
