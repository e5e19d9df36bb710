package io.headway.eval.worst;

import io.headway.eval.Work;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.InvocationTargetException;
import java.util.function.LongUnaryOperator;

/** Classes that are defined, used a thousand times and forgotten: what a profiler keeps for each shows. */
public final class ClassStorm implements Work {
    private static final int CALLS = 1_000;

    private final byte[] template;

    /** Reads the class that is defined over and over. */
    public ClassStorm() throws Exception {
        try (InputStream file = ClassStorm.class.getResourceAsStream("ClassStorm$Step.class")) {
            template = file.readAllBytes();
        }
    }

    @Override
    public Operation operation(int thread, int threads) {
        return this::defineAndUse;
    }

    private void defineAndUse() throws IllegalAccessException, NoSuchMethodException, InstantiationException,
            InvocationTargetException {
        Class<?> defined = MethodHandles.lookup().defineHiddenClass(template, true).lookupClass();
        LongUnaryOperator step = (LongUnaryOperator) defined.getDeclaredConstructor().newInstance();
        long state = 1;
        for (int i = 0; i < CALLS; i++) {
            state = step.applyAsLong(state);
        }
        if (state == 0) {
            throw new IllegalStateException("xorshift never gives 0");
        }
    }

    /** What is defined; hidden, so that its name does not matter. */
    static final class Step implements LongUnaryOperator {
        @Override
        public long applyAsLong(long x) {
            long a = x ^ x << 13;
            long b = a ^ a >>> 7;
            return b ^ b << 17;
        }
    }
}
