import java.util.List;

/** One thread that runs stacks of every shape and writes down, at each moment, which of its methods are on it. */
public final class Known {
    public static final int MAIN = 0;
    public static final int RECURSION = 1;
    public static final int DESCEND = 2;
    public static final int BURN = 3;
    public static final int INLINED = 4;
    public static final int OUTER = 5;
    public static final int MIDDLE = 6;
    public static final int INNER = 7;
    public static final int EXCEPTIONS = 8;
    public static final int CATCHING = 9;
    public static final int THROWING = 10;
    public static final int FRESH = 11;
    public static final int RUN = 12;
    public static final int CHAIN = 13;
    public static final int STEP = 14;
    public static final int BOTTOM = 15;
    public static final int REPLACED = 16;
    public static final int ALLOCATION = 17;

    private static final List<String> METHODS = List.of(
            "main", "recursion", "descend", "burn", "inlined", "outer", "middle", "inner", "exceptions", "catching",
            "throwing", "fresh", "run", "chain", "step", "bottom", "replaced", "allocation");

    /** Also of methods that write nothing down, because they call nobody. */
    private static final List<String> CALLS = List.of(
            "main recursion", "recursion descend", "descend descend", "descend burn", "burn mix",
            "main inlined", "inlined outer", "outer middle", "middle inner", "inner mix", "middle mix", "outer mix",
            "main exceptions", "exceptions catching", "catching throwing", "throwing throwing", "throwing burn",
            "main fresh", "fresh run", "run chain", "chain step", "step chain", "step bottom", "bottom burn",
            "run replaced", "replaced mix", "main allocation", "allocation burn");

    static volatile long sink;

    private Known() {}

    public static void main(String[] args) throws Exception {
        int depth = Truth.enter(MAIN);
        Truth.begin(METHODS, CALLS);
        for (int i = 0; !Truth.isDone(); i++) {
            sink += recursion(40);
            sink += inlined(300);
            sink += exceptions();
            sink += allocation();
            if (i % 8 == 0) {
                sink += fresh();
            }
        }
        Truth.leave(depth);
    }

    private static long recursion(int levels) {
        int depth = Truth.enter(RECURSION);
        try {
            return descend(levels);
        } finally {
            Truth.leave(depth);
        }
    }

    private static long descend(int left) {
        int depth = Truth.enter(DESCEND);
        try {
            return left > 1 ? descend(left - 1) + 1 : burn(left, 20_000);
        } finally {
            Truth.leave(depth);
        }
    }

    public static long burn(long seed, int rounds) {
        int depth = Truth.enter(BURN);
        try {
            long value = seed;
            for (int i = 0; i < rounds; i++) {
                value = mix(value);
            }
            return value;
        } finally {
            Truth.leave(depth);
        }
    }

    public static long mix(long value) {
        long mixed = value * 6364136223846793005L + 1442695040888963407L;
        return mixed ^ mixed >>> 29;
    }

    private static long inlined(int rounds) {
        int depth = Truth.enter(INLINED);
        try {
            long value = 0;
            for (int i = 0; i < rounds; i++) {
                value += outer(i);
            }
            return value;
        } finally {
            Truth.leave(depth);
        }
    }

    private static long outer(long value) {
        int depth = Truth.enter(OUTER);
        try {
            return mix(middle(mix(value)) + middle(value));
        } finally {
            Truth.leave(depth);
        }
    }

    private static long middle(long value) {
        int depth = Truth.enter(MIDDLE);
        try {
            return mix(inner(mix(value)) - inner(value));
        } finally {
            Truth.leave(depth);
        }
    }

    private static long inner(long value) {
        int depth = Truth.enter(INNER);
        try {
            return mix(mix(mix(value)));
        } finally {
            Truth.leave(depth);
        }
    }

    private static long exceptions() {
        int depth = Truth.enter(EXCEPTIONS);
        try {
            long length = 0;
            for (int i = 0; i < 20; i++) {
                length += catching(8);
            }
            return length;
        } finally {
            Truth.leave(depth);
        }
    }

    private static int catching(int levels) {
        int depth = Truth.enter(CATCHING);
        try {
            throwing(levels);
            return 0;
        } catch (IllegalStateException e) {
            return e.getStackTrace().length;
        } finally {
            Truth.leave(depth);
        }
    }

    private static void throwing(int levels) {
        int depth = Truth.enter(THROWING);
        try {
            if (levels > 0) {
                throwing(levels - 1);
            } else if (burn(levels, 100) != 0) {
                throw new IllegalStateException("as planned");
            }
        } finally {
            Truth.leave(depth);
        }
    }

    private static long allocation() {
        int depth = Truth.enter(ALLOCATION);
        try {
            long length = 0;
            for (int i = 0; i < 30; i++) {
                long[] fresh = new long[2_000];
                fresh[0] = burn(i, 100);
                length += fresh.clone()[0] & 1;
            }
            return length;
        } finally {
            Truth.leave(depth);
        }
    }

    /** Code that was never compiled yet, because its class is new each time. */
    private static long fresh() throws Exception {
        int depth = Truth.enter(FRESH);
        try {
            Class<?> type = new FreshLoader().loadClass("KnownFresh");
            ((Runnable) type.getDeclaredConstructor().newInstance()).run();
            return 1;
        } finally {
            Truth.leave(depth);
        }
    }
}
