package io.headway.workloads.toggle;

import io.headway.workloads.demo.Shop;
import java.sql.SQLException;

/** The demo's shop as continuous work. */
final class ShopWork implements ContinuousWork {
    private final Shop shop;

    ShopWork(int threads) throws SQLException {
        shop = new Shop(threads);
    }

    @Override
    public void start() {
        shop.start();
    }

    @Override
    public long operations() {
        return shop.operations();
    }

    @Override
    public long[] threadIds() {
        return shop.requestThreadIds();
    }

    @Override
    public void end() throws InterruptedException {
        shop.end();
    }
}
