package io.headway.workloads;

/** A subcommand of the workloads jar. */
public interface Workload {
    /**
     * Runs to the end.
     *
     * @param arguments its options; it asks for all of them and then refuses unknown ones
     * @return the exit code
     */
    int run(Arguments arguments) throws Exception;
}
