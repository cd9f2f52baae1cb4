package io.millrace.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ServiceTargetTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "localhost:9101",
                "10.0.0.7:1",
                "[::1]:9101",
                "static://decode-0.decode:9102",
                "static://[fe80::1%eth0]:9102",
                "dns:///decode.svc.cluster.local:65535"
            })
    void takesAddressesAndNames(String target) {
        assertThatCode(() -> ServiceTarget.require("targets", List.of(target))).doesNotThrowAnyException();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "foo://x:y:z",
                "localhost",
                "localhost:port",
                "localhost:0",
                "localhost:65536",
                "static://",
                "static://localhost",
                "dns:///decode",
                "::1:9101",
                "a b:9101",
                "x:y:z",
                ":9101"
            })
    void refusesWhatNoChannelCanBeMadeFor(String target) {
        assertThatThrownBy(() -> ServiceTarget.require("targets", List.of("localhost:9101", target)))
                .hasMessage("targets: " + target + " (expected: host:port, static://host:port or dns:///host:port)");
    }

    @Test
    void showsThatATargetIsEmpty() {
        assertThatThrownBy(() -> ServiceTarget.require("targets", List.of("")))
                .hasMessageStartingWith("targets: \"\" (expected");
    }

    @Test
    void leavesToGrpcWhatItKnows() {
        assertThat(ServiceTarget.forGrpc("static://localhost:9103")).isEqualTo("localhost:9103");
        assertThat(ServiceTarget.forGrpc("dns:///localhost:9103")).isEqualTo("dns:///localhost:9103");
    }
}
