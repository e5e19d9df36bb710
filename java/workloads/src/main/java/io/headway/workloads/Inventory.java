package io.headway.workloads;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;

/**
 * A stock of products with a word index, all guarded by one lock: the finding that is known in
 * advance. {@link #rebuildIndex} holds the lock for tens of milliseconds, while requests want it for
 * a microsecond.
 *
 * <p>Every method that takes the lock reports how long that took to the {@link AcquireTimes} of its
 * caller.
 */
public final class Inventory {
    private static final String[] ADJECTIVES = {
        "brass", "copper", "dry", "early", "flat", "green", "heavy", "inner", "long", "moss", "north", "oak", "plain",
        "quiet", "round", "steel", "tall", "upper", "warm", "young"
    };
    private static final String[] NOUNS = {
        "anchor", "bolt", "chain", "drum", "engine", "flange", "gear", "hinge", "joint", "knob", "lever", "mast", "nail",
        "pulley", "rope", "screw", "tackle", "valve", "wheel", "yoke"
    };

    private final Object lock = new Object();
    private final String[] names;
    private final int[] available;
    private TreeMap<String, List<Integer>> index = new TreeMap<>();
    private long reserved;
    private long restocked;

    /** A stock of {@code products} products with {@code each} pieces of each. */
    public Inventory(int products, int each) {
        names = new String[products];
        available = new int[products];
        for (int id = 0; id < products; id++) {
            names[id] = nameOf(id);
            available[id] = each;
        }
    }

    private static String nameOf(int id) {
        return ADJECTIVES[id % ADJECTIVES.length] + " " + NOUNS[id / 20 % NOUNS.length] + " no" + id / 400;
    }

    /** Number of products; ids are 0 to this, exclusive. */
    public int products() {
        return names.length;
    }

    /** How many products have this word in their names, as of the last rebuild. */
    public int lookup(String word, AcquireTimes times) {
        long request = System.nanoTime();
        synchronized (lock) {
            times.add(request, System.nanoTime());
            List<Integer> ids = index.get(word);
            return ids == null ? 0 : ids.size();
        }
    }

    /** Takes pieces out of the stock; a product that runs short is restocked first. */
    public void reserve(int product, int pieces, AcquireTimes times) {
        long request = System.nanoTime();
        synchronized (lock) {
            times.add(request, System.nanoTime());
            if (available[product] < pieces) {
                available[product] += 1000;
                restocked += 1000;
            }
            available[product] -= pieces;
            reserved += pieces;
        }
    }

    /** Builds the word index again. Long, and under the lock: this is what requests wait for. */
    public long rebuildIndex(AcquireTimes times) {
        long request = System.nanoTime();
        synchronized (lock) {
            long acquired = System.nanoTime();
            times.add(request, acquired);
            TreeMap<String, List<Integer>> fresh = new TreeMap<>();
            for (int id = 0; id < names.length; id++) {
                for (String word : names[id].toUpperCase(Locale.ROOT).split(" ")) {
                    fresh.computeIfAbsent(word, w -> new ArrayList<>()).add(id);
                }
            }
            index = fresh;
            return System.nanoTime() - acquired;
        }
    }

    /** A word that some product's name contains. */
    public static String wordNumber(int n) {
        return NOUNS[Math.floorMod(n, NOUNS.length)].toUpperCase(Locale.ROOT);
    }

    /**
     * True if no piece vanished or appeared: what is there equals what was there at first, plus what was
     * restocked, minus what was reserved.
     */
    public boolean addsUp(int eachAtFirst) {
        synchronized (lock) {
            long there = 0;
            for (int pieces : available) {
                there += pieces;
            }
            return there == (long) eachAtFirst * available.length + restocked - reserved;
        }
    }
}
