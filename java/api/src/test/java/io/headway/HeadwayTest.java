package io.headway;

import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

/** What the API does where no agent is. */
class HeadwayTest {
    @Test
    void withoutAnAgentTransactionsAreNothing() {
        try (Transaction outer = Headway.transaction("outer");
                Transaction inner = Headway.transaction("inner")) {
            assertSame(Transaction.NONE, outer);
            assertSame(Transaction.NONE, inner);
        }
    }

    @Test
    void aTransactionHasAKind() {
        assertThrows(NullPointerException.class, () -> Headway.transaction(null));
    }
}
