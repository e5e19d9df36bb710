package io.headway.workloads.predict;

import io.headway.workloads.UsageException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Monitors entered and left by native code: {@code MonitorEnter} and {@code MonitorExit} in one native
 * method, in two native methods with Java code between them, and a native synchronized method. A
 * plain synchronized block contends with them.
 *
 * <p>Whoever releases is named as the owner: for the two separate natives, that is {@code exit}.
 */
final class NativeLocks implements Scenario {
    private static boolean loaded;

    private final Object lock = new Object();
    private final Settings settings;
    private long lockId;
    private long classId;
    private int enterHoldExit;
    private int exit;
    private int block;
    private int holdClass;

    NativeLocks(Settings settings) {
        load();
        this.settings = settings;
    }

    private static synchronized void load() {
        if (loaded) {
            return;
        }
        Path jar = Path.of(System.getProperty("java.class.path")).toAbsolutePath();
        Path beside = Files.isDirectory(jar) ? jar.getParent() : jar;
        Path library = beside.resolveSibling("libheadwayworkloads.so");
        if (!Files.exists(library)) {
            throw new UsageException("the jni workload needs " + library + ", which was not built (no C compiler?)");
        }
        System.load(library.toString());
        loaded = true;
    }

    @Override
    public void plan(Stage stage) {
        Catalog catalog = stage.catalog();
        lockId = catalog.lock("NativeLocks.lock", lock);
        classId = catalog.lock("NativeLocks.class", NativeLocks.class);
        enterHoldExit = catalog.site(NativeLocks.class, "enterHoldExit");
        exit = catalog.site(NativeLocks.class, "exit");
        block = catalog.site(NativeLocks.class, "block");
        holdClass = catalog.site(NativeLocks.class, "holdClass");
        for (int i = 1; i <= settings.threads(); i++) {
            int first = i;
            stage.thread("native-" + i, ledger -> {
                for (int n = first; stage.running(); n++) {
                    step(n % 4, ledger);
                    Spin.sleepNanos(settings.pauseNs());
                }
            });
        }
    }

    @Override
    public void warmUp(Ledger scratch) {
        for (int kind = 0; kind < 4; kind++) {
            step(kind, scratch);
        }
    }

    private void step(int kind, Ledger ledger) {
        switch (kind) {
            case 0 -> within(ledger);
            case 1 -> across(ledger);
            case 2 -> block(ledger);
            default -> synchronizedNative(ledger);
        }
    }

    private void within(Ledger ledger) {
        long[] stamps = new long[3];
        enterHoldExit(lock, settings.holdNs(), stamps);
        ledger.add(lockId, enterHoldExit, stamps[0], stamps[1], stamps[2]);
    }

    private void across(Ledger ledger) {
        long request = System.nanoTime();
        enter(lock);
        long acquired = System.nanoTime();
        Spin.forNanos(settings.holdNs() * 2);
        long release = System.nanoTime();
        exit(lock);
        ledger.add(lockId, exit, request, acquired, release);
    }

    private void block(Ledger ledger) {
        long request = System.nanoTime();
        long acquired;
        long release;
        synchronized (lock) {
            acquired = System.nanoTime();
            Spin.forNanos(settings.holdNs() / 2);
            release = System.nanoTime();
        }
        ledger.add(lockId, block, request, acquired, release);
    }

    private void synchronizedNative(Ledger ledger) {
        long[] stamps = new long[3];
        long request = System.nanoTime();
        holdClass(settings.holdNs() * 2, stamps);
        ledger.add(classId, holdClass, request, stamps[1], stamps[2]);
    }

    private static native void enterHoldExit(Object lock, long holdNs, long[] stamps);

    private static native void enter(Object lock);

    private static native void exit(Object lock);

    private static synchronized native void holdClass(long holdNs, long[] stamps);
}
