package io.headway.eval.published;

import io.headway.eval.Crew;
import io.headway.eval.Work;
import io.headway.workloads.demo.Shop;
import java.sql.SQLException;

/** The demo's order mix on an H2 database in memory, with an inventory that one thread re-indexes. */
public final class OrderMix implements Work {
    @Override
    public Operation operation(int thread, int threads) {
        throw new UnsupportedOperationException("the shop has threads of its own");
    }

    @Override
    public Crew crew(int threads) throws SQLException {
        Shop shop = new Shop(threads);
        return new Crew() {
            @Override
            public void start() {
                shop.start();
            }

            @Override
            public long operations() {
                if (shop.failed()) {
                    throw new IllegalStateException("a request failed");
                }
                return shop.operations();
            }

            @Override
            public long[] threadIds() {
                return shop.requestThreadIds();
            }

            @Override
            public long[] takeLatencies() {
                return null;
            }
        };
    }
}
