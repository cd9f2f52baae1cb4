package io.millrace.standalone.keys;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.kernels.KvFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class KeySourcesTest {
    private static final String THREADS = "millrace.kernels.threads";

    private static GivenKeys read(
            Map<String, GivenKey> options,
            List<String> arguments,
            Map<String, String> properties,
            Map<String, String> environment) {
        return new KeySources().read(options, arguments, properties, environment);
    }

    @Test
    void theCommandLineComesBeforeSystemPropertiesAndTheseBeforeTheEnvironment() {
        Map<String, String> environment = Map.of(
                "MILLRACE_KERNELS_THREADS", "1",
                "MILLRACE_KV_POOLTOKENS", "640",
                "MILLRACE_KV_FORMAT", "f32",
                "MILLRACE_WEIGHTS_PROFILE", "w8a8");
        Map<String, String> properties =
                Map.of(THREADS, "2", "millrace.kv.poolTokens", "1280", "millrace.weights.profile", "bf16");
        Map<String, GivenKey> options = Map.of("millrace.weights.profile", new GivenKey("w4a8", "--profile"));
        GivenKeys keys = read(options, List.of("--" + THREADS + "=3"), properties, environment);
        assertThat(keys.of(THREADS)).contains(new GivenKey("3", "--" + THREADS));
        assertThat(keys.engine().kernels().threads()).isEqualTo(3);
        assertThat(keys.engine().kv().poolTokens()).isEqualTo(1280);
        assertThat(keys.engine().kv().format()).isEqualTo(KvFormat.F32);
        assertThat(keys.engine().weights().profile().id()).isEqualTo("w4a8");
    }

    @ParameterizedTest
    @CsvSource({
        "MILLRACE_KVCACHE_CAPACITYBYTES",
        "MILLRACE_KV_CACHE_CAPACITY_BYTES",
        "millrace.kv-cache.capacity-bytes",
        "Millrace_KvCache_CapacityBytes"
    })
    void aVariableIsSpeltInSeveralWays(String variable) {
        GivenKeys keys = read(Map.of(), List.of(), Map.of(), Map.of(variable, "1000"));
        assertThat(keys.ofServices()).containsExactly(Map.entry("millrace.kv-cache.capacity-bytes", "1000"));
        keys.requireSound();
    }

    @Test
    void whatIsNoSettingIsLeftAlone() {
        KeySources sources = new KeySources();
        GivenKeys keys = sources.read(
                Map.of(),
                List.of(),
                Map.of("millrace.home", "/x", "millrace.kernels.library", "/y", "user.name", "z"),
                Map.of(
                        "MILLRACE_AOT", "off",
                        "MILLRACE_JAVA_OPTS", "-Xmx1g",
                        "MILLRACE_NOW", "0",
                        "MILLRACE_GATEWAY_SERVICE_HOST", "10.0.0.1",
                        "MILLRACE_KV_CACHE_PORT_9103_TCP", "tcp://10.0.0.1:9103",
                        "PATH", "/bin"));
        assertThat(keys.ofServices()).isEmpty();
        assertThat(sources.unused())
                .containsExactly("MILLRACE_GATEWAY_SERVICE_HOST", "MILLRACE_KV_CACHE_PORT_9103_TCP");
    }

    @Test
    void whatNobodyWouldNoticeIsRefused() {
        refused(
                "--millrace.kernels.treads: unknown (expected: a key of a service; nearest is --" + THREADS + ")",
                "--" + "millrace.kernels.treads=1");
        refused("--millrace.foo.bar: unknown (expected: a key of a service)", "--millrace.foo.bar=1");
        refused("--" + THREADS + ": without a value (expected: --" + THREADS + "=VALUE)", "--" + THREADS);
        refused("--" + THREADS + ": given twice (expected: once)", "--" + THREADS + "=1", "--" + THREADS + "=2");
        refused(
                "--millrace.gateway.decode-targets[0]: a:1 (expected: not set; ",
                "--millrace.gateway.decode-targets[0]=a:1");
        assertThatThrownBy(() -> read(Map.of(), List.of(), Map.of("millrace.kernel.threads", "1"), Map.of()))
                .hasMessage("-Dmillrace.kernel.threads: unknown (expected: a key of a service; nearest is -D" + THREADS
                        + ")");
        assertThatThrownBy(() -> read(Map.of(), List.of(), Map.of(), Map.of("MILLRACE_KERNEL_THREADS", "1")))
                .hasMessage("MILLRACE_KERNEL_THREADS: unknown (expected: a key of a service; nearest is"
                        + " MILLRACE_KERNELS_THREADS)");
        assertThatThrownBy(
                        () -> read(Map.of(), List.of(), Map.of(), Map.of("MILLRACE_PREFILL_KVCACHETARGETS_0", "a:1")))
                .hasMessageStartingWith("MILLRACE_PREFILL_KVCACHETARGETS_0: a:1 (expected: not set; ");
        assertThatThrownBy(() -> read(
                        Map.of("millrace.kernels.isa", new GivenKey("avx2", "--isa")),
                        List.of("--millrace.kernels.isa=auto"),
                        Map.of(),
                        Map.of()))
                .hasMessage("--isa beside --millrace.kernels.isa (expected: one of them, they set the same)");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            MILLRACE_KERNELS_THREADS | -1 | -1 (expected: 0 for one per processor, to 1024)
            MILLRACE_KERNELS_THREADS | many | "many" (expected: 0 for one per processor, to 1024)
            MILLRACE_KV_POOLTOKENS | 99999999999999 | "99999999999999" (expected: 64..1073741824)
            MILLRACE_KERNELS_PROVIDER | '' | "" (expected: auto, scalar, vector or native)
            MILLRACE_DECODE_SCHEDULE_MAXSEQUENCES | 0 | 0 (expected: 1..4096)
            MILLRACE_PREFILL_VERIFYCHECKSUMS | maybe | "maybe" (expected: true or false)
            MILLRACE_GATEWAY_LIMITS_MAXCHOICES | 0 | 0 must be greater than or equal to 1
            MILLRACE_GATEWAY_LIMITS_MAXWAIT | soon | "soon" (expected: a duration, e.g. 500ms, 30s or 10m)
            MILLRACE_GATEWAY_LIMITS_MAXBODYSIZE | big | "big" (expected: a size, e.g. 512KB or 8MB)
            MILLRACE_KVCACHE_CAPACITYBYTES | 0 | 0 (expected: 1 or more)
            MILLRACE_KVCACHE_LEASE_MAXLEASES | 99999999999 | "99999999999" (expected:
            """, ignoreLeadingAndTrailingWhitespace = true)
    void aWrongValueIsToldByTheNameOfItsSource(String variable, String value, String said) {
        GivenKeys keys = read(Map.of(), List.of(), Map.of(), Map.of(variable, value));
        assertThatThrownBy(() -> {
                    keys.engine();
                    keys.requireSound();
                })
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(variable + ": " + said.strip());
    }

    @Test
    void ofSeveralWrongValuesTheSameOneIsToldAlways() {
        GivenKeys keys = read(
                Map.of(),
                List.of(
                        "--millrace.prefill.verify-checksums=maybe",
                        "--millrace.kv-cache.capacity-bytes=0",
                        "--millrace.gateway.limits.max-choices=0",
                        "--millrace.decode.schedule.max-sequences=0"),
                Map.of(),
                Map.of());
        assertThatThrownBy(keys::requireSound).hasMessageStartingWith("--millrace.decode.schedule.max-sequences: 0");
    }

    private static void refused(String said, String... arguments) {
        assertThatThrownBy(() -> read(Map.of(), List.of(arguments), Map.of(), Map.of()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(said);
    }
}
