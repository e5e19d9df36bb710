import jdk.jfr.Event;
import jdk.jfr.Name;

/** Commits events that JFR and async-profiler only make when something goes wrong, under their names. */
public final class RarelySeen {
    @Name("jdk.CPUTimeSamplesLost")
    static final class SamplesLost extends Event {
        int lostSamples;
    }

    @Name("jdk.DataLoss")
    static final class DataLoss extends Event {
        long amount;
        long total;
    }

    @Name("profiler.NativeLock")
    static final class NativeLock extends Event {
        long address;
    }

    public static void main(String[] arguments) throws InterruptedException {
        for (int i = 1; i <= 3; i++) {
            SamplesLost samples = new SamplesLost();
            samples.lostSamples = i;
            samples.commit();
            NativeLock lock = new NativeLock();
            lock.address = 0x7f00_0000_0000L + i % 2;
            lock.begin();
            Thread.sleep(2);
            lock.commit();
            DataLoss loss = new DataLoss();
            loss.amount = 100 * i;
            loss.total = loss.amount;
            loss.commit();
        }
    }
}
