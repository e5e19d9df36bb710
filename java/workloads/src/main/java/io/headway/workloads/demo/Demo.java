package io.headway.workloads.demo;

import io.headway.workloads.AcquireTimes;
import io.headway.workloads.Arguments;
import io.headway.workloads.Json;
import io.headway.workloads.TruthOutput;
import io.headway.workloads.Workload;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * {@code demo [--seconds N] [--threads N] [--truth FILE]}: the shop for a while, with throughput on
 * standard output and its own measured truth at the end.
 */
public final class Demo implements Workload {
    @Override
    public int run(Arguments arguments) throws Exception {
        long runNs = arguments.secondsAsNanos("seconds", 15);
        int threads = (int) arguments.number("threads", 8, 1);
        TruthOutput output = new TruthOutput(arguments);
        arguments.refuseUnknown();

        ThreadMXBean mxBean = ManagementFactory.getThreadMXBean();
        mxBean.setThreadContentionMonitoringEnabled(true);
        Shop shop = new Shop(threads);
        long start = System.nanoTime();
        shop.start();
        printThroughput(shop, start, runNs);
        List<ThreadInfo> infos = threadInfos(mxBean, shop);
        shop.end();
        long duration = System.nanoTime() - start;

        String wrong = shop.checkBooks();
        System.out.printf(
                Locale.ROOT, "demo: %d requests in %.1f s, %d rebuilds of the index%n",
                shop.operations(), duration / 1e9, shop.rebuilds());
        output.write(truth(shop, infos, duration));
        if (wrong != null) {
            System.err.println("demo: " + wrong);
            return 1;
        }
        return 0;
    }

    private static void printThroughput(Shop shop, long start, long runNs) throws InterruptedException {
        long before = 0;
        for (long now = start; now - start < runNs && !shop.failed(); now = System.nanoTime()) {
            Thread.sleep(Math.min(1000, Math.max(1, (runNs - (now - start)) / 1_000_000)));
            long operations = shop.operations();
            System.out.printf(
                    Locale.ROOT, "demo: %5.1f s  %6d requests/s%n", (System.nanoTime() - start) / 1e9, operations - before);
            before = operations;
        }
    }

    /** Taken while the threads live: the VM forgets ended ones. */
    private static List<ThreadInfo> threadInfos(ThreadMXBean mxBean, Shop shop) {
        List<ThreadInfo> infos = new ArrayList<>();
        for (RequestThread request : shop.requests()) {
            infos.add(mxBean.getThreadInfo(request.getId()));
        }
        return infos;
    }

    private static Map<String, Object> truth(Shop shop, List<ThreadInfo> infos, long durationNs) {
        AcquireTimes inventory = new AcquireTimes();
        inventory.addAll(shop.schedulerTimes());
        List<Map<String, Object>> threads = new ArrayList<>();
        long retries = 0;
        for (int i = 0; i < infos.size(); i++) {
            RequestThread request = shop.requests().get(i);
            inventory.addAll(request.inventoryTimes());
            retries += request.retries();
            threads.add(threadTruth(request, infos.get(i)));
        }
        Map<String, Object> truth = Json.object();
        truth.put("workload", "demo");
        truth.put("java", Runtime.version().toString());
        truth.put("duration_ns", durationNs);
        truth.put("operations", shop.operations());
        truth.put("retries", retries);
        truth.put("rebuilds", shop.rebuilds());
        truth.put("rebuild_hold_ns", shop.rebuildHoldNs());
        truth.put("locks", Map.of("Inventory.lock", inventory.toJson()));
        truth.put("threads", threads);
        return truth;
    }

    private static Map<String, Object> threadTruth(RequestThread request, ThreadInfo info) {
        Map<String, Object> json = Json.object();
        json.put("name", request.getName());
        json.put("operations", request.operations());
        json.put("retries", request.retries());
        json.put("locks", Map.of("Inventory.lock", request.inventoryTimes().toJson()));
        if (info != null) {
            json.put("mx_blocked_ms", info.getBlockedTime());
            json.put("mx_blocked_count", info.getBlockedCount());
            json.put("mx_waited_ms", info.getWaitedTime());
            json.put("mx_waited_count", info.getWaitedCount());
        }
        return json;
    }
}
