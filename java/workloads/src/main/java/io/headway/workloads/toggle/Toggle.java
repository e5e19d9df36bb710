package io.headway.workloads.toggle;

import com.sun.management.OperatingSystemMXBean;
import io.headway.workloads.Arguments;
import io.headway.workloads.UsageException;
import io.headway.workloads.Workload;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.sql.SQLException;
import java.util.concurrent.locks.LockSupport;

/**
 * {@code toggle demo|hotlock|queue|chain40|idle|vthreads|monitors|reentrantlocks|vparks [--seconds N] [--threads N] [--window-ms N]}:
 * continuous work that reports on short windows, for someone outside who switches a profiler on and
 * off meanwhile and compares neighbouring windows.
 *
 * <p>Prints {@code READY}, then per window one line
 * {@code window START_NS END_NS OPERATIONS PROCESS_CPU_NS THREADS_CPU_NS}: times are those of
 * {@code System.nanoTime}, which on Linux is CLOCK_MONOTONIC, so that they can be compared with
 * another process's; the last three are differences within the window. THREADS_CPU_NS is the CPU
 * time of the work's own threads: what a profiler's own threads use is in PROCESS_CPU_NS alone.
 */
public final class Toggle implements Workload {
    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final OperatingSystemMXBean process =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    @Override
    public int run(Arguments arguments) throws Exception {
        String name = arguments.word();
        long runNs = arguments.secondsAsNanos("seconds", 30);
        int threadCount = (int) arguments.number("threads", 8, 1);
        long windowNs = arguments.number("window-ms", 100, 1) * 1_000_000;
        ContinuousWork work = make(name == null ? "" : name, threadCount);
        arguments.refuseUnknown();

        work.start();
        System.out.println("READY");
        long start = System.nanoTime();
        Reading before = read(work);
        while (before.at - start < runNs) {
            LockSupport.parkNanos(before.at + windowNs - System.nanoTime());
            Reading now = read(work);
            System.out.printf(
                    "window %d %d %d %d %d%n",
                    before.at, now.at, now.operations - before.operations, now.processCpu - before.processCpu,
                    now.threadsCpu - before.threadsCpu);
            System.out.flush();
            before = now;
        }
        work.end();
        return 0;
    }

    private static ContinuousWork make(String name, int threadCount) throws SQLException {
        return switch (name) {
            case "demo" -> new ShopWork(threadCount);
            case "hotlock" -> new WorkThreads("hot", threadCount, new HotLock());
            case "queue" -> new WorkThreads("queued", threadCount, new Queue());
            case "chain40" -> new WorkThreads("deep", threadCount, new DeepEnter());
            case "idle" -> new WorkThreads("free", threadCount, new NoContention());
            case "vthreads" -> new VirtualCreation();
            case "monitors", "reentrantlocks", "vparks" -> new ShortLived(name, threadCount, Long.MAX_VALUE, 1);
            default -> throw new UsageException("toggle takes one of demo, hotlock, queue, chain40, idle, vthreads, "
                    + "monitors, reentrantlocks, vparks");
        };
    }

    private Reading read(ContinuousWork work) {
        long cpu = 0;
        for (long id : work.threadIds()) {
            cpu += Math.max(0, threads.getThreadCpuTime(id));
        }
        return new Reading(System.nanoTime(), work.operations(), process.getProcessCpuTime(), cpu);
    }

    private record Reading(long at, long operations, long processCpu, long threadsCpu) {}
}
