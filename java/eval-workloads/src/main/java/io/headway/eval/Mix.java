package io.headway.eval;

/** Arithmetic that takes a steady time and that no compiler can leave out if its result is kept. */
public final class Mix {
    private Mix() {}

    /** So many rounds of xorshift, about a nanosecond each; never 0 for a start that is not. */
    public static long steps(long state, int rounds) {
        long x = state;
        for (int i = 0; i < rounds; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        return x;
    }
}
