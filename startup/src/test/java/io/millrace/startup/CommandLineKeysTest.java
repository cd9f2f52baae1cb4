package io.millrace.startup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.catchThrowable;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.Banner;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;

/// Of a service whose only own keys are those of [StartFailureTest.Settings], with Spring Boot alone beside it.
class CommandLineKeysTest {
    @ParameterizedTest
    @CsvSource(delimiter = '|', nullValues = "-", textBlock = """
            --loging.config=x | --loging.config: unknown (expected: a key of this service; nearest is --logging.config)
            --spring.main.baner-mode=off | --spring.main.baner-mode: unknown (expected: a key of this service; \
            nearest is --spring.main.banner-mode)
            --milrace.kv-cache.capacity-bytes=10 | --milrace.kv-cache.capacity-bytes: unknown (expected: a key of this \
            service; nearest is --millrace.kv-cache.capacity-bytes)
            --foo | --foo: unknown (expected: a key of this service)
            --debugg | --debugg: unknown (expected: a key of this service; nearest is --debug)
            -- | --: not read (expected: options alone, each as --KEY=VALUE)
            '' | "": not read (expected: options alone, each as --KEY=VALUE)
            verbose | verbose: not read (expected: options alone, each as --KEY=VALUE)
            logging.config=x | logging.config=x: not read (expected: --logging.config=x)
            -Dmillrace.kernels.threads=1 | -Dmillrace.kernels.threads=1: not read (expected: \
            --millrace.kernels.threads=1)
            --logging.config x | --logging.config: without a value (expected: --logging.config=x, in one word)
            --millrace.kernels.threads 1 | --millrace.kernels.threads: without a value (expected: \
            --millrace.kernels.threads=1, in one word)
            """)
    void whatNobodyReadsIsRefused(String line, String sentence) {
        Throwable failure = catchThrowable(() -> start(line.split(" ", -1)));

        assertThat(StartFailure.sentence(failure)).hasValue(sentence);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--logging.level.io.millrace=info",
                "--logging.level.[io.millrace]=info",
                "--logging.group.ours[0]=io.millrace",
                "--logging.registerShutdownHook=true",
                "--LOGGING.EXCEPTION_CONVERSION_WORD=%ex",
                "--spring.profiles.active[0]=here",
                "--spring.profiles.active=a,b",
                "--spring.profiles.group.x[0]=y",
                "--spring.main.logStartupInfo=false",
                "--spring.something.of-somebody=1",
                "--debug=false",
                "--trace=false",
                "--management.endpoint.millrace.access=none",
                "--millrace.kv-cache.capacity-bytes=10",
                "--millrace.kvCache.capacity_bytes=10"
            })
    void whatSomebodyReadsIsLeftAlone(String argument) {
        assertThatCode(() -> start(argument)).doesNotThrowAnyException();
    }

    private static void start(String... arguments) {
        new SpringApplicationBuilder(StartFailureTest.Application.class)
                .initializers(new CommandLineKeys(arguments))
                .web(WebApplicationType.NONE)
                .bannerMode(Banner.Mode.OFF)
                .run(arguments)
                .close();
    }
}
