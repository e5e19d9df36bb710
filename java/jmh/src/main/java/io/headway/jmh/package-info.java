/** Headway as a profiler of JMH. */
package io.headway.jmh;
