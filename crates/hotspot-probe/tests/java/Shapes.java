import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

/** Stacks of every shape, each compared many times, from interpreted to C2. */
public final class Shapes {
    static volatile int sink;
    static final Object LOCK = new Object();

    public static void main(String[] args) throws Throwable {
        int rounds = Integer.getInteger("rounds", 3000);
        List<Thread> contenders = contention(rounds);
        for (int i = 0; i < rounds; i++) {
            Probe.thread(Thread.currentThread().getId());
            recursion(i % 40, i);
            inlined(i);
            lambdas(i);
            reflection(i);
            methodHandles(i);
            upcalls(i);
            exceptions(i);
            synchronizedKinds(i);
            polymorphic(i);
            manyArguments(i, 2, 3, 4, 5, 6, 7, 8, 9, 10L, 11d, "twelve");
        }
        onStackReplacement(rounds * 20);
        deep(1500);
        for (Thread contender : contenders) {
            contender.join();
        }
    }

    static int recursion(int depth, int i) {
        if (depth == 0) {
            Probe.check();
            return i;
        }
        return (depth & 1) == 0 ? recursion(depth - 1, i) + 1 : viaInterface(depth - 1, i);
    }

    static int viaInterface(int depth, int i) {
        IntUnaryOperator next = d -> recursion(d, i);
        return next.applyAsInt(depth);
    }

    static int inlined(int i) {
        return small1(i) + small2(i);
    }

    static int small1(int i) {
        return small3(i) * 2;
    }

    static int small2(int i) {
        int r = small3(i + 1);
        Probe.check();
        return r;
    }

    static int small3(int i) {
        if ((i & 7) == 0) {
            Probe.check();
        }
        return i * 31;
    }

    static void lambdas(int i) {
        Runnable outer = () -> {
            Runnable inner = () -> Probe.check();
            inner.run();
        };
        outer.run();
        sink = IntStream.range(0, 3).map(x -> {
            if (x == 1) {
                Probe.check();
            }
            return x + i;
        }).sum();
        List<Integer> list = new ArrayList<>(Arrays.asList(3, 1, 2));
        list.sort(Comparator.comparing(x -> {
            if (x == 2 && (i & 15) == 0) {
                Probe.check();
            }
            return -x;
        }));
    }

    static final Method REFLECTED = find("reflected");

    static Method find(String name) {
        try {
            return Shapes.class.getDeclaredMethod(name, int.class);
        } catch (NoSuchMethodException e) {
            throw new AssertionError(e);
        }
    }

    static int reflected(int i) {
        Probe.check();
        return i;
    }

    static void reflection(int i) throws Exception {
        sink = (Integer) REFLECTED.invoke(null, i);
        Runnable proxy = (Runnable) Proxy.newProxyInstance(
                Shapes.class.getClassLoader(), new Class<?>[] {Runnable.class}, (p, m, a) -> {
                    Probe.check();
                    return null;
                });
        if ((i & 3) == 0) {
            proxy.run();
        }
    }

    static final MethodHandle HANDLE;
    static MethodHandle changing;

    static {
        try {
            HANDLE = MethodHandles.lookup().findStatic(
                    Shapes.class, "reflected", MethodType.methodType(int.class, int.class));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static void methodHandles(int i) throws Throwable {
        sink = (int) HANDLE.invokeExact(i);
        changing = MethodHandles.filterReturnValue(HANDLE, HANDLE);
        if ((i & 7) == 0) {
            sink = (int) changing.invoke(i);
            sink = (Integer) HANDLE.invokeWithArguments(i);
        }
    }

    static void upcalls(int i) {
        Probe.call(() -> {
            Probe.check();
            if ((i & 3) == 0) {
                Probe.call(() -> recursion(3, i));
            }
        });
        Probe.locked(LOCK, Probe::check);
    }

    static void exceptions(int i) {
        try {
            thrower(i);
        } catch (IllegalStateException e) {
            Probe.check();
        } finally {
            Probe.check();
        }
        try {
            Object o = (i & 1) == 0 ? "text" : null;
            sink = o.hashCode();
        } catch (NullPointerException e) {
            Probe.check();
        }
    }

    static void thrower(int i) {
        synchronized (LOCK) {
            Probe.check();
            if (i % 3 == 0) {
                throw new IllegalStateException();
            }
        }
    }

    static synchronized void synchronizedStatic() {
        Probe.check();
    }

    synchronized void synchronizedInstance() {
        Probe.check();
        synchronized (LOCK) {
            Probe.check();
        }
    }

    static void synchronizedKinds(int i) {
        synchronizedStatic();
        new Shapes().synchronizedInstance();
        Probe.synchronizedCheck();
        synchronized (LOCK) {
            synchronized (LOCK) {
                small2(i);
            }
        }
    }

    interface Shape {
        int area(int i);
    }

    static final class Square implements Shape {
        public int area(int i) {
            Probe.check();
            return i * i;
        }
    }

    static final class Circle implements Shape {
        public int area(int i) {
            Probe.check();
            return 3 * i * i;
        }
    }

    static final class Line implements Shape {
        public int area(int i) {
            Probe.check();
            return 0;
        }
    }

    /** The call site's profile changes, so that compiled code is thrown away. */
    static void polymorphic(int i) {
        Shape shape = i < 800 ? new Square() : i < 1600 ? new Circle() : (i & 1) == 0
                ? new Line() : new Square();
        sink = area(shape, i);
    }

    static int area(Shape shape, int i) {
        return shape.area(i) + 1;
    }

    static double manyArguments(int a, int b, int c, int d, int e, int f, int g, int h, int i,
            long j, double k, String l) {
        Probe.check();
        if (a % 5 == 0) {
            return manyArguments(a + 1, c, b, e, d, g, f, i, h, j, k, l) + 1;
        }
        return a + b + c + d + e + f + g + h + i + j + k + l.length();
    }

    /** One long loop, compiled while it runs. */
    static void onStackReplacement(int rounds) {
        int sum = 0;
        for (int i = 0; i < rounds; i++) {
            sum += i ^ (sum >> 3);
            if (i % 64 == 0) {
                Probe.check();
                sum += small1(i);
            }
        }
        sink = sum;
    }

    static void deep(int depth) {
        if (depth == 0) {
            for (int i = 0; i < 5; i++) {
                Probe.check();
            }
            return;
        }
        deep(depth - 1);
    }

    static List<Thread> contention(int rounds) {
        Object[] locks = {new Object(), new Object()};
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 4; t++) {
            int number = t;
            Thread thread = new Thread(() -> {
                for (int i = 0; i < rounds; i++) {
                    contend(locks[(i + number) & 1], i % 20, i);
                }
            });
            thread.start();
            threads.add(thread);
        }
        return threads;
    }

    static int contend(Object lock, int depth, int i) {
        if (depth > 0) {
            return contend(lock, depth - 1, i) + 1;
        }
        synchronized (lock) {
            int sum = i;
            for (int k = 0; k < 2000; k++) {
                sum = sum * 31 + k;
            }
            return sum;
        }
    }
}
