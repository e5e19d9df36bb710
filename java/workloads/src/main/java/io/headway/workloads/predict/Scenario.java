package io.headway.workloads.predict;

/**
 * A program whose contention is known because it measures itself.
 *
 * <p>An instance has locks of its own, so that warming up one instance (without contention) leaves
 * another untouched while its methods are compiled with the same profile.
 */
interface Scenario {
    /** Sets up locks and threads. */
    void plan(Stage stage);

    /**
     * Runs the code once, alone, with holds of about a microsecond, so that it is compiled; called
     * again and again on a fresh instance before measuring.
     */
    void warmUp(Ledger scratch) throws Exception;
}
