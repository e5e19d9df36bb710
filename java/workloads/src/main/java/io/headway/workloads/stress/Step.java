package io.headway.workloads.stress;

/**
 * Something applied under a lock. {@link PlainStep} is the one implementation that is always there;
 * others are loaded and unloaded, which invalidates compiled code that counted on there being one.
 */
public abstract class Step {
    /** For implementations in loaders of their own. */
    public Step() {}

    /** A value that every implementation computes alike. */
    public abstract long apply(long value);
}
