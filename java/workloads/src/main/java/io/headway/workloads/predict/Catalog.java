package io.headway.workloads.predict;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Numbers for locks and for methods that hold them, and what they are called.
 *
 * <p>A lock number has two halves: the family (one per call of {@link #lock} or {@link #family}) and,
 * for families of many short-lived locks, the member.
 */
final class Catalog {
    private final List<LockFamily> families = new ArrayList<>();
    private final List<Site> sites = new ArrayList<>();

    /**
     * Numbers a lock.
     *
     * @param name what a developer calls it, {@code Inventory.lock}
     * @param object the lock itself
     */
    long lock(String name, Object object) {
        families.add(new LockFamily(name, object.getClass().getName(), object));
        return (long) (families.size() - 1) << 32;
    }

    /** Numbers a family of short-lived locks; {@link #member} gives the numbers of its locks. */
    long family(String name, Class<?> type) {
        families.add(new LockFamily(name, type.getName(), null));
        return (long) (families.size() - 1) << 32;
    }

    /** The number of a lock of a family. */
    static long member(long family, int number) {
        return family | number;
    }

    /** Numbers a method that holds a lock. */
    int site(Class<?> type, String method) {
        return site(type, method, null);
    }

    /**
     * Numbers a method that holds a lock, reached through another method.
     *
     * @param via a method of the same class that is on the stack whenever the site holds, and by which
     *     call chains to the same method can be distinguished; or null
     * @throws IllegalArgumentException if the class has no such method, so that a truth cannot name
     *     what does not exist
     */
    int site(Class<?> type, String method, String via) {
        sites.add(new Site(nameOf(type, method), via == null ? null : nameOf(type, via)));
        return sites.size() - 1;
    }

    private static String nameOf(Class<?> type, String method) {
        if (Arrays.stream(type.getDeclaredMethods()).noneMatch(m -> m.getName().equals(method))) {
            throw new IllegalArgumentException(type.getName() + " has no method " + method);
        }
        return type.getName() + "." + method;
    }

    /** What a lock number belongs to. */
    LockFamily familyOf(long lock) {
        return families.get((int) (lock >>> 32));
    }

    /** What a site number means. */
    Site siteOf(int site) {
        return sites.get(site);
    }

    /**
     * A lock, or a family of short-lived ones.
     *
     * @param name what a developer calls it
     * @param type class of the lock object
     * @param object the lock, null for a family
     */
    record LockFamily(String name, String type, Object object) {}

    /**
     * A method that holds a lock.
     *
     * @param method {@code pkg.Class.method}
     * @param via a method further down the stack, or null
     */
    record Site(String method, String via) {}
}
