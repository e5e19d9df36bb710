package io.headway.workloads;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JsonTest {
    @Test
    void fieldsKeepTheirOrderAndTextIsEscaped() {
        Map<String, Object> json = Json.object();
        json.put("z", 1L);
        json.put("a", List.of("quote\" back\\slash", "line\nend", true));
        json.put("none", null);
        assertEquals("{\"z\":1,\"a\":[\"quote\\\" back\\\\slash\",\"line\\u000aend\",true],\"none\":null}", Json.text(json));
    }

    @Test
    void whatJsonCannotSayIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> Json.text(Double.NaN));
        assertThrows(IllegalArgumentException.class, () -> Json.text(new Object()));
    }
}
