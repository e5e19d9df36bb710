package io.headway.workloads;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class InventoryTest {
    private final AcquireTimes times = new AcquireTimes();

    @Test
    void lookupsSeeTheIndexOfTheLastRebuild() {
        Inventory inventory = new Inventory(800, 10);
        assertEquals(0, inventory.lookup(Inventory.wordNumber(3), times));
        inventory.rebuildIndex(times);
        assertEquals(40, inventory.lookup(Inventory.wordNumber(3), times));
    }

    @Test
    void piecesAddUpThroughRestocking() {
        Inventory inventory = new Inventory(10, 5);
        for (int i = 0; i < 100; i++) {
            inventory.reserve(i % 10, 3, times);
        }
        assertTrue(inventory.addsUp(5));
        assertFalse(inventory.addsUp(6));
    }
}
