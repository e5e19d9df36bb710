package io.headway.workloads.parks;

import io.headway.workloads.AcquireTimes;
import io.headway.workloads.Arguments;
import io.headway.workloads.Json;
import io.headway.workloads.TruthOutput;
import io.headway.workloads.Workload;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.locks.ReentrantLock;

/**
 * {@code products}: queries of a table in memory that one lock guards. Of a hundred queries one goes
 * through all products, the others look one up. The look-ups suffer what the scans cause.
 */
public final class Products implements Workload {
    private static final int QUERIES_PER_SCAN = 100;
    private static final long BETWEEN_QUERIES_MS = 1;

    @Override
    public int run(Arguments arguments) throws Exception {
        int threads = (int) arguments.number("threads", 8, 1);
        int products = (int) arguments.number("products", 400_000, 1);
        long length = arguments.secondsAsNanos("seconds", 5);
        TruthOutput output = new TruthOutput(arguments);
        arguments.refuseUnknown();
        Table table = new Table(products);
        List<Client> clients = new ArrayList<>();
        long end = System.nanoTime() + length;
        for (int i = 0; i < threads; i++) {
            Client client = new Client(table, i, end);
            client.setDaemon(true);
            client.start();
            clients.add(client);
        }
        AcquireTimes lookups = new AcquireTimes();
        AcquireTimes scans = new AcquireTimes();
        for (Client client : clients) {
            client.join();
            lookups.addAll(client.lookups);
            scans.addAll(client.scans);
        }
        Map<String, Object> truth = Json.object();
        truth.put("lookups", lookups.toJson());
        truth.put("scans", scans.toJson());
        truth.put("lookups_held_ns", table.lookupsHeldNs);
        truth.put("scans_held_ns", table.scansHeldNs);
        output.write(truth);
        return 0;
    }

    private record Product(int id, long price) {}

    /** Products by id. */
    private static final class Table {
        private final ReentrantLock lock = new ReentrantLock();
        private final Map<Integer, Product> byId = new HashMap<>();
        /** Written by whoever holds the lock. */
        private long lookupsHeldNs;
        private long scansHeldNs;

        Table(int products) {
            SplittableRandom random = new SplittableRandom(7);
            for (int id = 0; id < products; id++) {
                byId.put(id, new Product(id, random.nextLong(1_000_000)));
            }
        }

        Product lookup(int id, AcquireTimes times) {
            long request = System.nanoTime();
            lock.lock();
            try {
                long acquired = System.nanoTime();
                times.add(request, acquired);
                Product product = byId.get(id);
                lookupsHeldNs += System.nanoTime() - acquired;
                return product;
            } finally {
                lock.unlock();
            }
        }

        Product scan(long price, AcquireTimes times) {
            long request = System.nanoTime();
            lock.lock();
            try {
                long acquired = System.nanoTime();
                times.add(request, acquired);
                Product best = null;
                for (Product product : byId.values()) {
                    if (product.price >= price && (best == null || product.price < best.price)) {
                        best = product;
                    }
                }
                scansHeldNs += System.nanoTime() - acquired;
                return best;
            } finally {
                lock.unlock();
            }
        }
    }

    /** Asks one query after the other. */
    private static final class Client extends Thread {
        private final Table table;
        private final SplittableRandom random;
        private final int first;
        private final long end;
        private final AcquireTimes lookups = new AcquireTimes();
        private final AcquireTimes scans = new AcquireTimes();
        private long sold;

        Client(Table table, int number, long end) {
            super("client-" + (number + 1));
            this.table = table;
            this.random = new SplittableRandom(number);
            this.first = number * 13;
            this.end = end;
        }

        @Override
        public void run() {
            try {
                for (int query = first; System.nanoTime() < end; query++) {
                    Product product = query % QUERIES_PER_SCAN == 0
                            ? table.scan(random.nextLong(900_000), scans)
                            : table.lookup(random.nextInt(table.byId.size()), lookups);
                    sold += product == null ? 0 : product.id;
                    Thread.sleep(BETWEEN_QUERIES_MS);
                }
            } catch (InterruptedException ended) {
                // Nobody interrupts it but the end of the program.
            }
        }
    }
}
