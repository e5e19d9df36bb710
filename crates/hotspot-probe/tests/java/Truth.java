import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.List;
import sun.misc.Unsafe;

/**
 * Where a program writes down which of its methods are on its stack, for a recorder that stops it at any
 * instruction. In memory outside the heap: how many methods, whether the recorder has enough, and their
 * numbers; from {@link #TEXT} on the names and the calls.
 */
public final class Truth {
    private static final Unsafe UNSAFE = unsafe();
    private static final int SIZE = 1 << 14;
    private static final int DONE = 4;
    private static final int NUMBERS = 8;
    private static final int TEXT = 4096;
    private static final long AREA = area();

    private Truth() {}

    private static Unsafe unsafe() {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return (Unsafe) field.get(null);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    private static long area() {
        long area = UNSAFE.allocateMemory(SIZE);
        UNSAFE.setMemory(area, SIZE, (byte) 0);
        return area;
    }

    /** Names the methods by their numbers and the calls among them, and has this thread recorded. */
    static void begin(List<String> methods, List<String> calls) {
        String text = String.join(",", methods) + "\n" + String.join("\n", calls);
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        for (int i = 0; i < bytes.length; i++) {
            UNSAFE.putByte(AREA + TEXT + i, bytes[i]);
        }
        Probe.record(AREA);
    }

    /** The current method begins; what {@link #leave} wants. */
    public static int enter(int method) {
        int depth = UNSAFE.getInt(AREA);
        UNSAFE.putInt(AREA + NUMBERS + 4L * depth, method);
        UNSAFE.putIntVolatile(null, AREA, depth + 1);
        return depth;
    }

    /** The current method ends. */
    public static void leave(int depth) {
        UNSAFE.putIntVolatile(null, AREA, depth);
    }

    /** True once the recorder has enough. */
    static boolean isDone() {
        return UNSAFE.getIntVolatile(null, AREA + DONE) != 0;
    }
}
