package io.headway;

/**
 * A transaction that began with {@link Headway#transaction(String)}.
 *
 * <p>It may be ended by another thread than the one that began it, but not by two at once.
 */
public final class Transaction implements AutoCloseable {
    /** Stands for every transaction that is not recorded. */
    static final Transaction NONE = new Transaction(0);

    /** The agent's number of it; 0 when it has ended or is not recorded. */
    private long number;

    Transaction(long number) {
        this.number = number;
    }

    /** Ends the transaction. Ending it again has no effect. */
    @Override
    public void close() {
        long ending = number;
        if (ending != 0) {
            number = 0;
            Headway.ended(ending);
        }
    }
}
