package io.headway.workloads.predict;

import io.headway.workloads.Arguments;

/**
 * What can be turned on a scenario; each uses what applies to it.
 *
 * @param threads how many threads contend
 * @param depth how deep under a thread's first method a lock is taken
 * @param holdNs how long a typical hold lasts
 * @param pauseNs how long a thread stays away from the lock between holds
 */
record Settings(int threads, int depth, long holdNs, long pauseNs) {
    /** For warming up: the same code, with holds of about a microsecond and no pause. */
    static final Settings WARM_UP = new Settings(1, 5, 1_000, 0);

    /** Reads {@code --threads --depth --hold-us --pause-us}. */
    static Settings from(Arguments arguments) {
        int threads = (int) arguments.number("threads", 4, 1);
        int depth = (int) arguments.number("depth", 10, 0);
        long holdUs = arguments.number("hold-us", 1000, 1);
        long pauseUs = arguments.number("pause-us", holdUs, 0);
        return new Settings(threads, depth, holdUs * 1000, pauseUs * 1000);
    }
}
