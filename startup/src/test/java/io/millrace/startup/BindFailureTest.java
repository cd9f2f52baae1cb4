package io.millrace.startup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import org.junit.jupiter.api.Test;

class BindFailureTest {
    @Test
    void aTakenPortIsKnownInTheLanguageOfTheMachine() throws IOException {
        InetAddress host = InetAddress.getLoopbackAddress();
        try (ServerSocket first = new ServerSocket(0, 1, host)) {
            IOException taken =
                    catchThrowableOfType(IOException.class, () -> new ServerSocket(first.getLocalPort(), 1, host));

            assertThat(BindFailure.isPortTaken(taken)).isTrue();
        }
    }

    @Test
    void whatIsForbiddenIsNotTaken() {
        assertThat(BindFailure.isPortTaken(new BindException("Permission denied")))
                .isFalse();
        assertThat(BindFailure.isPortTaken(new BindException("Keine Berechtigung")))
                .isFalse();
    }
}
