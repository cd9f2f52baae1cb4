package io.millrace.engine.file;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import tools.jackson.core.exc.StreamConstraintsException;

class JsonFaultTest {
    @Test
    void aLimitWithoutWordsOfItsOwnIsStillTold() {
        String said = "Token count (1001) exceeds the maximum allowed (1000, from `StreamReadConstraints`)";
        assertThat(JsonFault.found(new StreamConstraintsException(said))).isEqualTo("more than is read");
    }
}
