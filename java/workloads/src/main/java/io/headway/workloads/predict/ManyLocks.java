package io.headway.workloads.predict;

import java.util.Random;

/**
 * Transfers between accounts, each with a lock of its own, taken two at a time in the accounts' order.
 * A few accounts are in most transfers, so that every lock has its own share of the contention.
 */
final class ManyLocks implements Scenario {
    private static final int ACCOUNTS = 200;
    private static final int HOT = 6;

    private final Account[] accounts = new Account[ACCOUNTS];
    private final Settings settings;
    private int transfer;
    private int audit;

    ManyLocks(Settings settings) {
        this.settings = settings;
        for (int i = 0; i < ACCOUNTS; i++) {
            accounts[i] = new Account();
        }
    }

    @Override
    public void plan(Stage stage) {
        transfer = stage.catalog().site(ManyLocks.class, "transfer");
        audit = stage.catalog().site(ManyLocks.class, "audit");
        for (Account account : accounts) {
            account.lockId = stage.catalog().lock("Account", account);
        }
        for (int i = 1; i <= settings.threads(); i++) {
            Random random = new Random(i);
            stage.thread("teller-" + i, ledger -> {
                while (stage.running()) {
                    step(random, ledger);
                    Spin.sleepNanos(settings.pauseNs());
                }
            });
        }
    }

    @Override
    public void warmUp(Ledger scratch) {
        step(new Random(scratch.hashCode()), scratch);
    }

    private void step(Random random, Ledger ledger) {
        int a = pick(random);
        int b = pick(random);
        if (a == b) {
            audit(accounts[a], ledger);
        } else {
            transfer(accounts[Math.min(a, b)], accounts[Math.max(a, b)], ledger);
        }
    }

    private static int pick(Random random) {
        return random.nextInt(10) < 8 ? random.nextInt(HOT) : random.nextInt(ACCOUNTS);
    }

    private void transfer(Account first, Account second, Ledger ledger) {
        long request = System.nanoTime();
        long acquired;
        long acquiredBoth;
        long releaseSecond;
        long release;
        synchronized (first) {
            acquired = System.nanoTime();
            synchronized (second) {
                acquiredBoth = System.nanoTime();
                Spin.forNanos(settings.holdNs());
                first.balance--;
                second.balance++;
                releaseSecond = System.nanoTime();
            }
            Spin.forNanos(settings.holdNs() / 4);
            release = System.nanoTime();
        }
        ledger.add(first.lockId, transfer, request, acquired, release);
        ledger.add(second.lockId, transfer, acquired, acquiredBoth, releaseSecond);
    }

    private void audit(Account account, Ledger ledger) {
        long request = System.nanoTime();
        long acquired;
        long release;
        synchronized (account) {
            acquired = System.nanoTime();
            Spin.forNanos(settings.holdNs() * 2);
            release = System.nanoTime();
        }
        ledger.add(account.lockId, audit, request, acquired, release);
    }

    /** Its own lock. */
    static final class Account {
        private long lockId;
        private long balance;
    }
}
