package io.headway.workloads.stress;

import io.headway.workloads.ThreadKind;
import java.util.ArrayDeque;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that park in every way: behind locks and conditions, timed and not, interrupted, unparked
 * for no reason, on objects that live for one park. What went in must come out, and a counter under a
 * lock must be exact.
 */
final class ParkTraffic extends Stressor {
    private static final int CAPACITY = 4;
    private static final int EACH = 4;

    private final ThreadKind kind;
    private final String name;
    private final ReentrantLock lock = new ReentrantLock();
    private final ReentrantLock fair = new ReentrantLock(true);
    private final Condition notEmpty = lock.newCondition();
    private final Condition notFull = lock.newCondition();
    private final ArrayDeque<Integer> items = new ArrayDeque<>();
    private final Thread[] players = new Thread[2 * EACH];
    private final AtomicLong put = new AtomicLong();
    private final AtomicLong taken = new AtomicLong();
    private final AtomicLong counted = new AtomicLong();
    private long counter;

    ParkTraffic(String name, ThreadKind kind) {
        this.name = name;
        this.kind = kind;
    }

    @Override
    String name() {
        return name;
    }

    @Override
    void plan(Random random) {
        for (int i = 0; i < EACH; i++) {
            player(i, "producer-" + i, this::produce);
            player(EACH + i, "consumer-" + i, this::consume);
        }
        thread("nuisance", this::annoy);
        thread("futures", this::waitForFutures);
    }

    /** A thread of the kind, which an ordinary one waits for. */
    private void player(int number, String threadName, Part part) {
        thread(threadName, () -> {
            Throwable[] failure = new Throwable[1];
            Thread player = kind.unstarted(name + "-" + threadName + "-player", () -> {
                try {
                    part.play();
                } catch (Throwable e) {
                    failure[0] = e;
                }
            });
            player.start();
            players[number] = player;
            player.join();
            players[number] = null;
            if (failure[0] != null) {
                throw new IllegalStateException(failure[0]);
            }
        });
    }

    private void produce() {
        while (running()) {
            int item = ThreadLocalRandom.current().nextInt(1000);
            if (putItem(item)) {
                put.addAndGet(item);
            }
            count();
        }
    }

    private boolean putItem(int item) {
        lock.lock();
        try {
            while (items.size() == CAPACITY) {
                if (!running()) {
                    return false;
                }
                notFull.awaitNanos(50_000_000);
            }
            items.add(item);
            notEmpty.signal();
            return true;
        } catch (InterruptedException e) {
            return false;
        } finally {
            lock.unlock();
        }
    }

    private void consume() {
        while (running()) {
            taken.addAndGet(takeItem());
            count();
        }
    }

    private int takeItem() {
        try {
            if (!lock.tryLock(5, TimeUnit.MILLISECONDS)) {
                return 0;
            }
        } catch (InterruptedException e) {
            return 0;
        }
        try {
            while (items.isEmpty()) {
                if (!running()) {
                    return 0;
                }
                notEmpty.awaitNanos(1_000_000);
            }
            int item = items.remove();
            notFull.signalAll();
            return item;
        } catch (InterruptedException e) {
            return 0;
        } finally {
            lock.unlock();
        }
    }

    private void count() {
        fair.lock();
        try {
            counter++;
        } finally {
            fair.unlock();
        }
        counted.incrementAndGet();
    }

    /** Unparks and interrupts whoever comes along. */
    private void annoy() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        while (running()) {
            Thread player = players[random.nextInt(players.length)];
            if (player != null && random.nextInt(4) == 0) {
                player.interrupt();
            } else {
                LockSupport.unpark(player);
            }
            LockSupport.parkNanos(random.nextInt(200_000));
        }
    }

    /** Each wait is on an object that nobody waits on again. */
    private void waitForFutures() throws Exception {
        while (running()) {
            FutureTask<Integer> task = new FutureTask<>(() -> 1);
            CountDownLatch latch = new CountDownLatch(1);
            kind.unstarted(name + "-future", () -> {
                task.run();
                latch.countDown();
            }).start();
            task.get();
            latch.await();
        }
    }

    @Override
    String check() {
        long left = items.stream().mapToLong(Integer::longValue).sum();
        if (put.get() != taken.get() + left) {
            return "put " + put + ", took " + taken + ", left " + left;
        }
        return counter == counted.get() ? null : "counted " + counted + ", the counter says " + counter;
    }
}
