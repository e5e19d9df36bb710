/** Measures walks of a stack of about 40 physical frames, warmed up first. */
public final class Bench {
    private static volatile boolean measure;

    private Bench() {}

    public static void main(String[] args) {
        int depth = Integer.getInteger("depth", 70);
        for (int i = 0; i < 30_000; i++) {
            down(depth, i);
        }
        measure = true;
        down(depth, 0);
    }

    static int down(int depth, int i) {
        if (depth == 0) {
            if (measure) {
                Probe.bench();
            }
            return i;
        }
        return across(depth - 1, i) + depth;
    }

    static int across(int depth, int i) {
        return down(depth, i ^ depth);
    }
}
