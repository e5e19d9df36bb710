package io.headway.workloads.stress;

/** The step that is always loaded. */
final class PlainStep extends Step {
    @Override
    public long apply(long value) {
        return value + 1;
    }
}
