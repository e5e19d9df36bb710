package io.headway.workloads.stress;

import java.util.ArrayDeque;
import java.util.Random;

/**
 * Garbage, some of it locked: objects whose monitors were inflated move and die while collections run.
 * Each object carries a number that must be the same when it is looked at again.
 */
final class HeapPressure extends Stressor {
    private static final int KEPT = 2_000;

    private final ArrayDeque<Parcel> queue = new ArrayDeque<>();
    private String wrong;

    @Override
    String name() {
        return "heap";
    }

    @Override
    void plan(Random random) {
        for (int i = 0; i < 2; i++) {
            Random own = new Random(random.nextLong());
            thread("" + i, () -> allocate(own));
        }
        thread("collector", this::collect);
    }

    private void allocate(Random random) {
        while (running()) {
            Parcel made = new Parcel(random.nextInt(2_000));
            Parcel old = null;
            synchronized (queue) {
                queue.add(made);
                if (queue.size() > KEPT) {
                    old = queue.remove();
                }
            }
            if (old != null) {
                inspect(old);
            }
        }
    }

    private void inspect(Parcel parcel) {
        synchronized (parcel) {
            if (parcel.content.length != parcel.length || parcel.hash != System.identityHashCode(parcel)) {
                wrong = "a parcel changed: " + parcel.content.length + " for " + parcel.length;
            }
        }
    }

    private void collect() throws InterruptedException {
        while (running()) {
            Thread.sleep(200);
            System.gc();
        }
    }

    @Override
    String check() {
        return wrong;
    }

    private static final class Parcel {
        private final int length;
        private final byte[] content;
        private final int hash;

        Parcel(int length) {
            this.length = length;
            this.content = new byte[length];
            this.hash = System.identityHashCode(this);
        }
    }
}
