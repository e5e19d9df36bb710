package io.headway.workloads.samples;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;

/**
 * Shapes of stacks. Every method that may stand on one is named in {@link #CALLS} with its callers, so that
 * a stack that could not have been is recognised.
 */
final class Shapes {
    /** {@code caller callee}, by method name. */
    static final List<String> CALLS = List.of(
            "run running",
            "run <init>",
            "run recursion",
            "recursion descend",
            "descend descend",
            "descend burn",
            "run shares",
            "shares heavy",
            "shares light",
            "heavy burn",
            "light burn",
            "run exceptions",
            "exceptions catching",
            "catching throwing",
            "throwing throwing",
            "throwing burn",
            "run calls",
            "calls twice",
            "calls thrice",
            "twice apply",
            "thrice apply",
            "apply burn",
            "run allocation",
            "allocation allocate",
            "allocate burn",
            "run relay",
            "relay step");

    /** Rounds of arithmetic in one call of {@code burn}: about 20 us of compiled code. */
    private static final int ROUNDS = 20_000;

    private final int depth;
    private final long end;
    private volatile long heavyRounds;
    private volatile long lightRounds;
    private volatile long sink;

    Shapes(int depth, long end) {
        this.depth = depth;
        this.end = end;
    }

    /** Shapes by the name of their thread. */
    Map<String, Runnable> all() {
        Map<String, Runnable> shapes = new TreeMap<>();
        shapes.put("recursion", new Recursion());
        shapes.put("shares", new Shares());
        shapes.put("exceptions", new Exceptions());
        shapes.put("calls", new Calls());
        shapes.put("allocation", new Allocation());
        shapes.put("relay", new Relay());
        return shapes;
    }

    /** Rounds of {@code burn} that {@code heavy} took; all take the same time. */
    long heavyRounds() {
        return heavyRounds;
    }

    /** The same of {@code light}. */
    long lightRounds() {
        return lightRounds;
    }

    private boolean running() {
        return System.nanoTime() < end;
    }

    private static long burn(long seed, int rounds) {
        long value = seed;
        for (int i = 0; i < rounds; i++) {
            value = value * 6364136223846793005L + 1442695040888963407L;
            value ^= value >>> 29;
        }
        return value;
    }

    /** {@code depth} calls of {@code descend}, then {@code burn}. */
    private final class Recursion implements Runnable {
        @Override
        public void run() {
            while (running()) {
                sink += recursion();
            }
        }

        private long recursion() {
            return descend(depth);
        }

        private long descend(int left) {
            return left > 1 ? descend(left - 1) + 1 : burn(left, ROUNDS * 4);
        }
    }

    /**
     * Three parts of {@code heavy} to one of {@code light}, in pieces of changing length: samples come
     * at even distances, and pieces that did so, too, would keep step with them. No clock is read
     * between the two: a thread that is due to be switched goes at its next system call, runs on from
     * there after a tick, and would find the next tick at the same place each time.
     */
    private final class Shares implements Runnable {
        private final SplittableRandom random = new SplittableRandom(3);

        @Override
        public void run() {
            while (running()) {
                sink += shares();
            }
        }

        private long shares() {
            int length = random.nextInt(ROUNDS / 2, 2 * ROUNDS);
            long value = heavy(length * 75) + light(length * 25);
            heavyRounds += length * 75L;
            lightRounds += length * 25L;
            return value;
        }

        private long heavy(int rounds) {
            return burn(1, rounds);
        }

        private long light(int rounds) {
            return burn(2, rounds);
        }
    }

    /** Exceptions thrown below a few frames, caught above them. */
    private final class Exceptions implements Runnable {
        @Override
        public void run() {
            while (running()) {
                sink += exceptions();
            }
        }

        private long exceptions() {
            return catching(8);
        }

        private long catching(int levels) {
            try {
                return throwing(levels);
            } catch (IllegalStateException e) {
                return e.getStackTrace().length;
            }
        }

        private long throwing(int levels) {
            if (levels > 0) {
                return throwing(levels - 1);
            }
            if (burn(levels, ROUNDS / 10) != 0) {
                throw new IllegalStateException("as planned");
            }
            return 0;
        }
    }

    private interface Step {
        long apply(long value);
    }

    /** Calls through an interface: new classes now and then take the ground from under compiled code. */
    private final class Calls implements Runnable {
        private Step[] steps = {new First()};

        @Override
        public void run() {
            int rounds = 0;
            while (running()) {
                sink += calls();
                if (++rounds == 20_000) {
                    steps = new Step[] {new First(), new Second()};
                } else if (rounds == 40_000) {
                    steps = new Step[] {new First(), new Second(), new Third()};
                }
            }
        }

        private long calls() {
            long value = 0;
            for (Step step : steps) {
                value += twice(step, value) + thrice(step, value);
            }
            return value;
        }

        private long twice(Step step, long value) {
            return step.apply(step.apply(value));
        }

        private long thrice(Step step, long value) {
            return step.apply(step.apply(step.apply(value)));
        }
    }

    private static final class First implements Step {
        @Override
        public long apply(long value) {
            return burn(value, 300);
        }
    }

    private static final class Second implements Step {
        @Override
        public long apply(long value) {
            return burn(value, 200) + 1;
        }
    }

    private static final class Third implements Step {
        @Override
        public long apply(long value) {
            return burn(value, 100) + 2;
        }
    }

    /** Objects that live for a while, so that the VM's own code is on top now and then. */
    private final class Allocation implements Runnable {
        private List<long[]> kept = new ArrayList<>();

        @Override
        public void run() {
            while (running()) {
                sink += allocation();
            }
        }

        private long allocation() {
            if (kept.size() > 500) {
                kept = new ArrayList<>();
            }
            return allocate(2_000);
        }

        private long allocate(int words) {
            long[] fresh = new long[words];
            fresh[0] = burn(words, 500);
            kept.add(fresh.clone());
            return fresh[0];
        }
    }

    /** Calls of a method so short that calling it is most of the time, if it is not compiled. */
    private final class Relay implements Runnable {
        @Override
        public void run() {
            while (running()) {
                sink += relay();
            }
        }

        private long relay() {
            long value = 0;
            for (int i = 0; i < ROUNDS; i++) {
                value = step(value);
            }
            return value;
        }

        private static long step(long value) {
            return value + 1;
        }
    }
}
