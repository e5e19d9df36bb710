package io.headway.eval.compute;

import io.headway.eval.Mix;
import io.headway.eval.Work;

/**
 * Numerical kernels of the kinds that are customary for measuring a compiler: Fourier transform,
 * over-relaxation, sparse product, elimination, and a sum by random points. Threads share nothing. No
 * package of such kernels is on Maven Central, so these are our own.
 */
public final class Kernels implements Work {
    @Override
    public Operation operation(int thread, int threads) {
        return new Round(thread + 1L);
    }

    private static final class Round implements Operation {
        private static final int TRANSFORMED = 1 << 10;
        private static final int GRID = 64;
        private static final int ROWS = 500;
        private static final int PER_ROW = 8;
        private static final int MATRIX = 40;
        private static final int POINTS = 20_000;

        private final double[] real = new double[TRANSFORMED];
        private final double[] imaginary = new double[TRANSFORMED];
        private final double[][] grid = new double[GRID][GRID];
        private final double[][] matrix = new double[MATRIX][MATRIX];
        private final int[] columns = new int[ROWS * PER_ROW];
        private final double[] vector = new double[ROWS];
        private long random;
        private double sum;

        Round(long seed) {
            random = Mix.steps(seed, 5);
            for (int i = 0; i < columns.length; i++) {
                columns[i] = (int) (next() * ROWS);
            }
        }

        private double next() {
            random = Mix.steps(random, 1);
            return (random >>> 11) * 0x1p-53;
        }

        @Override
        public void once() {
            sum = transform() + relax() + multiply() + eliminate() + scatter();
            if (Double.isNaN(sum)) {
                throw new IllegalStateException("not a number");
            }
        }

        private double transform() {
            for (int i = 0; i < TRANSFORMED; i++) {
                real[i] = next();
                imaginary[i] = 0;
            }
            for (int half = TRANSFORMED / 2; half > 0; half /= 2) {
                for (int offset = 0; offset < half; offset++) {
                    double angle = -Math.PI * offset / half;
                    butterflies(half, offset, Math.cos(angle), Math.sin(angle));
                }
            }
            return real[1];
        }

        private void butterflies(int half, int offset, double cos, double sin) {
            for (int i = offset; i < TRANSFORMED; i += 2 * half) {
                double r = real[i] - real[i + half];
                double m = imaginary[i] - imaginary[i + half];
                real[i] += real[i + half];
                imaginary[i] += imaginary[i + half];
                real[i + half] = r * cos - m * sin;
                imaginary[i + half] = r * sin + m * cos;
            }
        }

        private double relax() {
            grid[GRID / 2][GRID / 2] = next();
            for (int pass = 0; pass < 10; pass++) {
                for (int i = 1; i < GRID - 1; i++) {
                    double[] row = grid[i];
                    for (int j = 1; j < GRID - 1; j++) {
                        double around = grid[i - 1][j] + grid[i + 1][j] + row[j - 1] + row[j + 1];
                        row[j] = 0.3125 * around - 0.25 * row[j];
                    }
                }
            }
            return grid[1][1];
        }

        private double multiply() {
            for (int pass = 0; pass < 10; pass++) {
                for (int row = 0; row < ROWS; row++) {
                    double product = 0;
                    for (int k = row * PER_ROW; k < (row + 1) * PER_ROW; k++) {
                        product += vector[columns[k]] * 0.1;
                    }
                    vector[row] = product + 1;
                }
            }
            return vector[0];
        }

        private double eliminate() {
            for (int i = 0; i < MATRIX; i++) {
                for (int j = 0; j < MATRIX; j++) {
                    matrix[i][j] = next() + (i == j ? MATRIX : 0);
                }
            }
            for (int pivot = 0; pivot < MATRIX; pivot++) {
                for (int i = pivot + 1; i < MATRIX; i++) {
                    double factor = matrix[i][pivot] / matrix[pivot][pivot];
                    for (int j = pivot; j < MATRIX; j++) {
                        matrix[i][j] -= factor * matrix[pivot][j];
                    }
                }
            }
            return matrix[MATRIX - 1][MATRIX - 1];
        }

        private double scatter() {
            int inside = 0;
            for (int i = 0; i < POINTS; i++) {
                double x = next();
                double y = next();
                inside += x * x + y * y <= 1 ? 1 : 0;
            }
            return 4.0 * inside / POINTS;
        }
    }
}
