package io.headway.workloads.stress;

/**
 * Loaded again and again by loaders of its own. It locks its class, so that monitors, methods and
 * compiled code of a class that is going to be unloaded are contended.
 */
public final class PassingStep extends Step {
    private static long applied;

    /** Made by reflection, in a loader of its own. */
    public PassingStep() {}

    @Override
    public long apply(long value) {
        synchronized (PassingStep.class) {
            applied++;
            return value + 1;
        }
    }
}
