package io.headway.causes;

import java.util.HashMap;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Timer;
import java.util.TimerTask;
import java.util.Vector;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.RejectedExecutionException;

/** Collections, pools and timers of the JDK. */
final class Collections {
    private Collections() {}

    static List<Cause> causes() {
        return List.of(
                Cause.of("chm-compute", Collections::compute),
                Cause.of("chm-put", Collections::put),
                Cause.of("copy-on-write", Collections::copyOnWrite),
                Cause.of("hashtable", Collections::hashtable),
                Cause.of("vector", Collections::vector),
                Cause.of("string-buffer", Collections::stringBuffer),
                Cause.of("synchronized-collections", Collections::synchronizedMap),
                Cause.of("timer", Collections::timer),
                Cause.of("pool-threads-come-and-go", Collections::pool));
    }

    private static Cause.Task compute() {
        ConcurrentHashMap<Integer, Integer> map = new ConcurrentHashMap<>();
        return worker -> map.compute(1, (key, before) -> Slow.after(3, key));
    }

    /** All keys are in one bin, and take long to compare. */
    private static Cause.Task put() {
        ConcurrentHashMap<Slow.Key, Integer> map = new ConcurrentHashMap<>();
        return worker -> map.put(new Slow.Key(), worker);
    }

    private static Cause.Task copyOnWrite() {
        CopyOnWriteArrayList<Object> listeners = new CopyOnWriteArrayList<>(java.util.Collections.nCopies(200_000, 1));
        return worker -> {
            listeners.add(worker);
            listeners.remove(0);
        };
    }

    private static Cause.Task hashtable() {
        Hashtable<Slow.Key, Integer> table = new Hashtable<>(Map.of(new Slow.Key(), 1));
        return worker -> table.get(new Slow.Key());
    }

    private static Cause.Task vector() {
        Vector<Slow.Key> list = new Vector<>(List.of(new Slow.Key()));
        return worker -> list.contains(new Slow.Key());
    }

    private static Cause.Task stringBuffer() {
        StringBuffer shared = new StringBuffer();
        return worker -> shared.append(new Slow.Key());
    }

    private static Cause.Task synchronizedMap() {
        Map<Slow.Key, Integer> map = java.util.Collections.synchronizedMap(new HashMap<>(Map.of(new Slow.Key(), 1)));
        return worker -> map.get(new Slow.Key());
    }

    /** Many tasks, and one thread that keeps removing those that were cancelled. */
    private static Cause.Task timer() {
        Timer timer = new Timer(true);
        return worker -> {
            if (worker == 0) {
                timer.purge();
                return;
            }
            TimerTask task = new TimerTask() {
                @Override
                public void run() {}
            };
            timer.schedule(task, 3_600_000);
            task.cancel();
        };
    }

    /** The pool asks a new thread whether it was started, under its lock. */
    private static final class SlowThread extends Thread {
        SlowThread(Runnable work) {
            super(work, "short");
        }

        @Override
        public State getState() {
            return Slow.after(2, super.getState());
        }
    }

    /** Threads end as soon as they have nothing to do. */
    private static Cause.Task pool() {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                0, 50, 0, TimeUnit.NANOSECONDS, new SynchronousQueue<>(), SlowThread::new);
        return worker -> {
            try {
                pool.submit(() -> worker);
            } catch (RejectedExecutionException full) {
                Thread.onSpinWait();
            }
        };
    }
}
