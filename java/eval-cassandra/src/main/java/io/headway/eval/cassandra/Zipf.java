package io.headway.eval.cassandra;

import io.headway.eval.Mix;
import java.util.Arrays;

/** Numbers from 0 on, low ones often: the chance of number n is proportional to (n + 1)^-exponent. */
final class Zipf {
    /** Chance of this number or a lower one. */
    private final double[] cumulative;
    private long random;

    Zipf(int numbers, double exponent, long seed) {
        cumulative = new double[numbers];
        double sum = 0;
        for (int i = 0; i < numbers; i++) {
            sum += Math.pow(i + 1, -exponent);
            cumulative[i] = sum;
        }
        for (int i = 0; i < numbers; i++) {
            cumulative[i] /= sum;
        }
        random = Mix.steps(seed, 7);
    }

    int next() {
        int found = Arrays.binarySearch(cumulative, uniform());
        return Math.min(found < 0 ? -found - 1 : found, cumulative.length - 1);
    }

    /** A number below a bound, all alike. */
    int below(int bound) {
        return (int) (uniform() * bound);
    }

    private double uniform() {
        random = Mix.steps(random, 1);
        return (random >>> 11) * 0x1.0p-53;
    }
}
