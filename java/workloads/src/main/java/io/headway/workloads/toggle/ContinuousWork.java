package io.headway.workloads.toggle;

/** Work that goes on at a steady rate until it is ended, and counts what it has done. */
interface ContinuousWork {
    /** Starts the threads. */
    void start() throws Exception;

    /** Operations done so far by all threads; cheap, and callable while they run. */
    long operations();

    /** Ids of the platform threads whose CPU time is the work's; empty if there are none. */
    long[] threadIds();

    /** Ends the threads and waits for them. */
    void end() throws Exception;
}
