package io.headway.workloads;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class ArgumentsTest {
    private static Arguments parse(String... args) {
        return new Arguments(args, 0);
    }

    private static void assertRefused(String expected, Runnable what) {
        String message = assertThrows(UsageException.class, what::run).getMessage();
        assertTrue(message.contains(expected), message);
    }

    @Test
    void valuesAndDefaults() {
        Arguments arguments = parse("chains", "--seconds", "1.5", "--threads", "3", "--virtual", "true");
        assertEquals("chains", arguments.word());
        assertEquals(1_500_000_000L, arguments.secondsAsNanos("seconds", 9));
        assertEquals(3, arguments.number("threads", 8, 1));
        assertEquals(8, arguments.number("depth", 8, 1));
        assertTrue(arguments.flag("virtual", false));
        arguments.refuseUnknown();
    }

    @Test
    void whatIsWrongIsNamed() {
        assertRefused("--threads takes", () -> parse("--threads", "0").number("threads", 8, 1));
        assertRefused("'abc'", () -> parse("--seconds", "abc").secondsAsNanos("seconds", 1));
        assertRefused("'maybe'", () -> parse("--virtual", "maybe").flag("virtual", false));
        assertRefused("needs a value", () -> parse("--threads"));
        assertRefused("'stray'", () -> parse("--a", "b", "stray", "c"));
    }

    @Test
    void unknownOptionsAndStrayWordsAreRefused() {
        assertRefused("--treads", () -> {
            Arguments arguments = parse("--treads", "4");
            arguments.number("threads", 8, 1);
            arguments.refuseUnknown();
        });
        assertRefused("'word'", () -> parse("word").refuseUnknown());
    }
}
