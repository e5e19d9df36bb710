package io.headway.workloads.toggle;

/** Arithmetic that takes a steady time and that no compiler can leave out if its result is kept. */
final class Mix {
    private Mix() {}

    /** So many rounds of xorshift, about a nanosecond each. */
    static long steps(long state, int rounds) {
        long x = state;
        for (int i = 0; i < rounds; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        return x;
    }
}
