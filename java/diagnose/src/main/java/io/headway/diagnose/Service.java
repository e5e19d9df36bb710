package io.headway.diagnose;

/** A small service under load: what its request threads do, over and over. */
public interface Service extends AutoCloseable {
    /**
     * Serves one request.
     *
     * @param worker number of the request thread, from 0
     * @throws Exception the service failed; the program then ends
     */
    void serve(int worker) throws Exception;

    /** Ends what the service began. */
    @Override
    default void close() throws Exception {}
}
