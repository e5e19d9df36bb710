package io.headway.eval.compute;

import io.headway.eval.Work;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/**
 * Java and native code in turns: arrays handed to zlib and back, and methods called through the VM's
 * native reflection, one below the other, so that a stack has several native segments.
 */
public final class NativeCalls implements Work {
    private static final int BYTES = 8 << 10;
    private static final int DEPTH = 4;

    private final Method down;

    /** Finds the method that calls itself through reflection. */
    public NativeCalls() throws NoSuchMethodException {
        down = NativeCalls.class.getDeclaredMethod("down", Method.class, byte[].class, Integer.class);
    }

    @Override
    public Operation operation(int thread, int threads) {
        byte[] input = new byte[BYTES];
        new Random(thread).nextBytes(input);
        Arrays.fill(input, 0, BYTES / 2, (byte) 'x');
        return () -> {
            input[ThreadLocalRandom.current().nextInt(BYTES)]++;
            down.invoke(null, down, input, DEPTH);
        };
    }

    /** Goes down through native code, and does the work there. */
    static void down(Method down, byte[] input, Integer left) throws Exception {
        if (left > 0) {
            down.invoke(null, down, input, left - 1);
            return;
        }
        byte[] packed = new byte[BYTES * 2];
        Deflater deflater = new Deflater(Deflater.BEST_SPEED);
        deflater.setInput(input);
        deflater.finish();
        int length = deflater.deflate(packed);
        deflater.end();
        Inflater inflater = new Inflater();
        inflater.setInput(packed, 0, length);
        byte[] output = new byte[BYTES];
        if (inflater.inflate(output) != BYTES || crc(input) != crc(output)) {
            throw new IllegalStateException("what was unpacked is not what was packed");
        }
        inflater.end();
    }

    private static long crc(byte[] bytes) {
        CRC32 crc = new CRC32();
        crc.update(bytes);
        return crc.getValue();
    }
}
