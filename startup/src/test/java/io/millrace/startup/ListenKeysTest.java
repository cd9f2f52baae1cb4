package io.millrace.startup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.millrace.engine.error.MillraceException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.Banner;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.StandardEnvironment;

class ListenKeysTest {
    @Configuration(proxyBeanMethods = false)
    static class Application {}

    private static void check(boolean isWeb, Map<String, Object> settings) {
        StandardEnvironment environment = new StandardEnvironment();
        environment.getPropertySources().addFirst(new MapPropertySource("settings", settings));
        ListenKeys.check(environment, isWeb);
    }

    private static ServerSocket listener() throws IOException {
        return new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    }

    @ParameterizedTest
    @ValueSource(strings = {"server", "management.server", "spring.grpc.server"})
    void aPortInUseIsNamedWithItsKey(String section) throws IOException {
        try (ServerSocket taken = listener()) {
            Map<String, Object> settings = new HashMap<>();
            settings.put("server.port", "0");
            settings.put(section + ".port", Integer.toString(taken.getLocalPort()));
            assertThatThrownBy(() -> check(true, settings))
                    .isInstanceOf(MillraceException.class)
                    .hasMessage(section + ".port: " + taken.getLocalPort() + " is in use (expected: a free port)");
        }
    }

    @Test
    void aStartEndsWithTheSentence() throws IOException {
        try (ServerSocket taken = listener()) {
            Throwable failure = catchThrowable(() -> new SpringApplicationBuilder(Application.class)
                    .web(WebApplicationType.NONE)
                    .bannerMode(Banner.Mode.OFF)
                    .run("--spring.grpc.server.port=" + taken.getLocalPort())
                    .close());
            assertThat(StartFailure.sentence(failure))
                    .contains(
                            "spring.grpc.server.port: " + taken.getLocalPort() + " is in use (expected: a free port)");
        }
    }

    @Test
    void portsThatAreNotListenedOnMayBeTaken() throws IOException {
        try (ServerSocket taken = listener()) {
            String port = Integer.toString(taken.getLocalPort());
            assertThatCode(() -> check(false, Map.of("server.port", port, "management.server.port", port)))
                    .doesNotThrowAnyException();
            assertThatCode(() ->
                            check(true, Map.of("spring.grpc.server.port", port, "spring.grpc.server.enabled", "false")))
                    .doesNotThrowAnyException();
            assertThatCode(() -> check(true, Map.of("server.port", "-1", "management.server.port", "-1")))
                    .doesNotThrowAnyException();
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            server.port=65536 | server.port: 65536 (expected: 0..65535)
            spring.grpc.server.port=http | spring.grpc.server.port: "http" (expected: 0..65535)
            server.address=192.0.2.1 | server.address: 192.0.2.1 (expected: an address of this machine, or none for all)
            spring.grpc.server.port=7 | spring.grpc.server.port: 7 is that of server.port (expected: another)
            """)
    void whatCannotBeListenedOnIsNamedWithItsKey(String setting, String sentence) throws IOException {
        String port = freePort();
        Map<String, Object> settings = new HashMap<>(Map.of("server.port", port));
        String[] pair = setting.split("=", 2);
        settings.put(pair[0], pair[1].equals("7") ? port : pair[1]);
        assertThatThrownBy(() -> check(true, settings)).hasMessage(sentence.replace(": 7 ", ": " + port + " "));
    }

    private static String freePort() throws IOException {
        try (ServerSocket free = listener()) {
            return Integer.toString(free.getLocalPort());
        }
    }
}
