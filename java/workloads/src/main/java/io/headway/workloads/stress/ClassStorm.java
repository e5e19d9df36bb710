package io.headway.workloads.stress;

import java.io.IOException;
import java.io.InputStream;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Classes that come and go while their methods are on stacks and their monitors are contended, and
 * class hierarchies that change under compiled code (deoptimization while a lock is held).
 */
final class ClassStorm extends Stressor {
    private static final int USERS = 3;

    private final Object lock = new Object();
    private final AtomicLong expected = new AtomicLong();
    private final AtomicLong loaders = new AtomicLong();
    private volatile Step passing = new PlainStep();
    private long value;

    @Override
    String name() {
        return "classes";
    }

    @Override
    void plan(Random random) throws IOException {
        byte[] bytes = bytesOf(PassingStep.class);
        Random own = new Random(random.nextLong());
        thread("loader", () -> load(bytes, own));
        for (int i = 0; i < USERS; i++) {
            thread("user-" + i, this::use);
        }
    }

    private static byte[] bytesOf(Class<?> type) throws IOException {
        String resource = "/" + type.getName().replace('.', '/') + ".class";
        try (InputStream in = type.getResourceAsStream(resource)) {
            return in.readAllBytes();
        }
    }

    private void load(byte[] bytes, Random random) throws Exception {
        while (running()) {
            Thread.sleep(random.nextInt(5));
            if (random.nextInt(4) == 0) {
                // For a while nobody refers to a passing step: its class can be unloaded.
                passing = new PlainStep();
            } else {
                passing = new OneClassLoader(bytes).make();
            }
            if (loaders.incrementAndGet() % 100 == 0) {
                System.gc();
            }
        }
    }

    private void use() {
        Step plain = new PlainStep();
        long mine = 0;
        while (running()) {
            Step step = passing;
            for (int i = 0; i < 50; i++) {
                applyLocked(plain);
                applyLocked(step);
                mine += 2;
            }
        }
        expected.addAndGet(mine);
    }

    private void applyLocked(Step step) {
        synchronized (lock) {
            value = step.apply(value);
        }
    }

    @Override
    String check() {
        return value == expected.get() ? null : "stepped to " + value + ", expected " + expected;
    }

    /** Defines {@link PassingStep} itself and leaves everything else to the application's loader. */
    private static final class OneClassLoader extends ClassLoader {
        private final byte[] bytes;

        OneClassLoader(byte[] bytes) {
            super(ClassStorm.class.getClassLoader());
            this.bytes = bytes;
        }

        Step make() throws ReflectiveOperationException {
            Class<?> type = defineClass(PassingStep.class.getName(), bytes, 0, bytes.length);
            return (Step) type.getConstructor().newInstance();
        }
    }
}
