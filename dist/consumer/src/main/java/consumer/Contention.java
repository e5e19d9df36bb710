package consumer;

import io.headway.Headway;
import io.headway.Transaction;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/** Four threads that sleep 2 ms under one lock, so each waits for the three others: 6 ms per operation. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 1, time = 1)
@Measurement(iterations = 2, time = 2)
@Fork(1)
@Threads(4)
public class Contention {
    private final Object inventory = new Object();

    @Benchmark
    public void order() throws InterruptedException {
        try (Transaction order = Headway.transaction("order")) {
            synchronized (inventory) {
                Thread.sleep(2);
            }
        }
    }
}
