import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;

/**
 * Classes come and go: each new subclass breaks what compiled code assumed, so
 * that frames on the stack are deoptimized; dropped loaders take their classes,
 * methods and code with them.
 */
public class Churn implements Runnable {
    static volatile int sink;
    static volatile boolean loadNow;
    static final List<WeakReference<ClassLoader>> LOADERS = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        int rounds = Integer.getInteger("rounds", 60);
        Churn base = new Churn();
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < 1500; i++) {
                sink = base.work(24, i);
            }
            loadNow = true;
            sink = base.work(24, 1);
            if (round % 8 == 7) {
                System.gc();
            }
        }
        long alive = LOADERS.stream().filter(l -> l.get() != null).count();
        System.out.println("loaders=" + LOADERS.size() + " alive=" + alive);
    }

    protected int work(int depth, int i) {
        if (depth == 0) {
            return bottom(i);
        }
        int r = step(depth - 1, i);
        // Standing in a frame that was deoptimized when the class was loaded.
        if (i == 1 && (depth & 3) == 0) {
            Probe.check();
        }
        return r + depth;
    }

    protected int step(int depth, int i) {
        return work(depth, i);
    }

    @Override
    public void run() {
        sink = work(3, 2);
    }

    private static int bottom(int i) {
        if (loadNow) {
            loadNow = false;
            load();
            Probe.check();
        } else if ((i & 63) == 0) {
            Probe.check();
        }
        return i;
    }

    private static void load() {
        Loader loader = new Loader();
        LOADERS.add(new WeakReference<>(loader));
        try {
            Runnable leaf = (Runnable) loader.leaf().getDeclaredConstructor().newInstance();
            for (int i = 0; i < 300; i++) {
                leaf.run();
            }
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    /** Loads a copy of {@link Leaf} of its own. */
    static final class Loader extends ClassLoader {
        Loader() {
            super(Churn.class.getClassLoader());
        }

        Class<?> leaf() {
            try (InputStream in = Churn.class.getResourceAsStream("Churn$Leaf.class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass("Churn$Leaf", bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }
    }

    /** Loaded again and again. */
    public static class Leaf extends Churn {
        @Override
        protected int step(int depth, int i) {
            Probe.check();
            return super.step(depth, i) + 1;
        }
    }
}
