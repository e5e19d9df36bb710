package io.headway.eval;

/** The threads that work. */
public interface Crew {
    /** Starts them. */
    void start();

    /** Operations done so far; cheap, and callable while they work. */
    long operations();

    /** Their ids. */
    long[] threadIds();

    /** Latencies since this was last called, as counts for {@link Latencies#quantile}; null if they do not matter. */
    long[] takeLatencies();
}
