package io.headway.workloads.stress;

import java.util.ArrayDeque;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Producers and consumers that wait and notify, with and without timeouts, while others interrupt
 * them: what went in must come out.
 */
final class BoundedBuffer extends Stressor {
    private static final int CAPACITY = 8;
    private static final int EACH = 3;

    private final Object lock = new Object();
    private final ArrayDeque<Long> items = new ArrayDeque<>();
    private final AtomicLong put = new AtomicLong();
    private final AtomicLong taken = new AtomicLong();
    private final Thread[] consumers = new Thread[EACH];

    @Override
    String name() {
        return "buffer";
    }

    @Override
    void plan(Random random) {
        for (int i = 0; i < EACH; i++) {
            int number = i;
            Random producer = new Random(random.nextLong());
            Random consumer = new Random(random.nextLong());
            thread("producer-" + i, () -> produce(producer));
            thread("consumer-" + i, () -> consume(number, consumer));
        }
        Random own = new Random(random.nextLong());
        thread("interrupter", () -> interrupt(own));
    }

    private void produce(Random random) throws InterruptedException {
        long sum = 0;
        while (running()) {
            long item = random.nextInt(1000);
            if (putItem(item)) {
                sum += item;
            }
        }
        put.addAndGet(sum);
    }

    private boolean putItem(long item) throws InterruptedException {
        synchronized (lock) {
            while (items.size() == CAPACITY) {
                if (!running()) {
                    return false;
                }
                lock.wait(100);
            }
            items.add(item);
            lock.notifyAll();
            return true;
        }
    }

    private void consume(int number, Random random) {
        synchronized (consumers) {
            consumers[number] = Thread.currentThread();
        }
        long sum = 0;
        while (running()) {
            sum += takeItem(random);
        }
        taken.addAndGet(sum);
        synchronized (consumers) {
            consumers[number] = null;
        }
    }

    private long takeItem(Random random) {
        synchronized (lock) {
            while (items.isEmpty()) {
                if (!running()) {
                    return 0;
                }
                try {
                    lock.wait(random.nextBoolean() ? 1 : 50, random.nextInt(999_999));
                } catch (InterruptedException e) {
                    return 0;
                }
            }
            long item = items.remove();
            if (random.nextBoolean()) {
                lock.notify();
            } else {
                lock.notifyAll();
            }
            return item;
        }
    }

    private void interrupt(Random random) throws InterruptedException {
        while (running()) {
            synchronized (consumers) {
                Thread consumer = consumers[random.nextInt(EACH)];
                if (consumer != null) {
                    consumer.interrupt();
                }
            }
            Thread.sleep(random.nextInt(20));
        }
    }

    @Override
    String check() {
        long left = 0;
        for (long item : items) {
            left += item;
        }
        return put.get() == taken.get() + left ? null : "put " + put + ", took " + taken + ", left " + left;
    }
}
