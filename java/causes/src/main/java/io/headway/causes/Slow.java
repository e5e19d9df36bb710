package io.headway.causes;

import java.io.IOException;
import java.io.OutputStream;

/** What makes others wait: things that take milliseconds where they usually take none. */
final class Slow {
    private Slow() {}

    /** Sleeps. */
    static void pause(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException over) {
            Thread.currentThread().interrupt();
        }
    }

    /** The value of a call that takes so long. */
    static <T> T after(int millis, T value) {
        pause(millis);
        return value;
    }

    /** A key that equals each other one, after two milliseconds; all have one hash code. */
    static final class Key implements Comparable<Key> {
        @Override
        public int hashCode() {
            return 1;
        }

        @Override
        public boolean equals(Object other) {
            pause(2);
            return other instanceof Key;
        }

        @Override
        public int compareTo(Key other) {
            pause(2);
            return 0;
        }

        @Override
        public String toString() {
            return after(2, "key");
        }
    }

    /** A device that takes two milliseconds for each write. */
    static final class Output extends OutputStream {
        @Override
        public void write(int one) throws IOException {
            write(new byte[] {(byte) one}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int from, int length) throws IOException {
            if (length > 0) {
                pause(2);
            }
        }
    }
}
