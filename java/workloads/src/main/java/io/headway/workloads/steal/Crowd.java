package io.headway.workloads.steal;

import io.headway.workloads.Arguments;
import io.headway.workloads.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

/**
 * Threads that do nothing but compute, for a time on the clock, beside idle ones: more of them than
 * there are CPUs wait for one most of the time. What they do not compute, they waited.
 */
final class Crowd {
    private Crowd() {}

    static Map<String, Object> run(Arguments arguments) throws InterruptedException {
        long length = arguments.secondsAsNanos("seconds", 3);
        int count = (int) arguments.number("threads", 4L * Runtime.getRuntime().availableProcessors(), 1);
        int idle = (int) arguments.number("idle", 0, 0);
        arguments.refuseUnknown();
        Burner.calibrate();
        for (int i = 0; i < idle; i++) {
            Thread thread = new Thread(Crowd::sleepForever, "idle-" + (i + 1));
            thread.setDaemon(true);
            thread.start();
        }
        CountDownLatch ready = new CountDownLatch(count);
        List<Member> members = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            members.add(new Member("crowd-" + (i + 1), length, ready));
        }
        members.forEach(Thread::start);
        List<Object> threads = new ArrayList<>();
        long units = 0;
        for (Member member : members) {
            member.join();
            units += member.units;
            threads.add(member.truth());
        }
        Map<String, Object> truth = Json.object();
        truth.put("units", units);
        truth.put("threads", threads);
        return truth;
    }

    private static void sleepForever() {
        try {
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException ended) {
            // Nobody interrupts it but the end of the program.
        }
    }

    private static final class Member extends Thread {
        private final long length;
        private final CountDownLatch ready;
        private long wall;
        private long cpu;
        private long units;

        Member(String name, long length, CountDownLatch ready) {
            super(name);
            this.length = length;
            this.ready = ready;
        }

        @Override
        public void run() {
            ready.countDown();
            try {
                ready.await();
            } catch (InterruptedException ended) {
                throw new IllegalStateException(ended);
            }
            long cpuBefore = Burner.cpuNanos();
            long before = System.nanoTime();
            while (System.nanoTime() - before < length) {
                Burner.burn(10);
                units += 10;
            }
            wall = System.nanoTime() - before;
            cpu = Burner.cpuNanos() - cpuBefore;
        }

        Map<String, Object> truth() {
            Map<String, Object> truth = Json.object();
            truth.put("name", getName());
            truth.put("wall_ns", wall);
            truth.put("cpu_ns", cpu);
            return truth;
        }
    }
}
