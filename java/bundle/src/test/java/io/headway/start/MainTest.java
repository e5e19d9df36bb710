package io.headway.start;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class MainTest {
    @Test
    void aPidAloneIsRecorded() {
        assertEquals(List.of("record", "4711"), Main.commandLine("4711"));
        assertEquals(List.of("status", "4711"), Main.commandLine("status", "4711"));
        assertEquals(List.of("shop"), Main.commandLine("shop"));
        assertEquals(List.of(), Main.commandLine());
    }
}
