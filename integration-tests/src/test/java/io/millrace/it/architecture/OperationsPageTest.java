package io.millrace.it.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.decode.DecodeSettings;
import io.millrace.gateway.GatewayProperties;
import io.millrace.kvcache.KvCacheSettings;
import io.millrace.prefill.PrefillSettings;
import io.millrace.rpc.MetricNames;
import io.millrace.startup.EngineKeys;
import io.millrace.startup.SettingKeys;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/// The page for operators names nothing that is not there, and every metric that is.
class OperationsPageTest {
    private static final Pattern KEY = Pattern.compile("`(millrace\\.[a-z.-]+)`");
    private static final Pattern METRIC = Pattern.compile("`((?:vllm:|millrace_)[a-z0-9_]+)`");

    @Test
    void itsKeysAreTaken() throws IOException {
        Set<String> known = new HashSet<>(EngineKeys.all());
        known.addAll(SettingKeys.of("millrace.prefill", PrefillSettings.class));
        known.addAll(SettingKeys.of("millrace.decode", DecodeSettings.class));
        known.addAll(SettingKeys.of("millrace.gateway", GatewayProperties.class));
        known.addAll(SettingKeys.of("millrace.kv-cache", KvCacheSettings.class));
        assertThat(named(KEY)).hasSizeGreaterThan(10).isSubsetOf(known);
    }

    @Test
    void itsMetricsAreThoseThatAreMeasured() throws ReflectiveOperationException, IOException {
        Set<String> known = new HashSet<>();
        for (Field name : MetricNames.class.getFields()) {
            known.add(String.valueOf(name.get(null)));
        }
        assertThat(named(METRIC)).hasSizeGreaterThan(10).containsExactlyInAnyOrderElementsOf(known);
    }

    private static Set<String> named(Pattern pattern) throws IOException {
        String page = Files.readString(
                Path.of(System.getProperty("millrace.root", "..")).resolve("docs/operations.md"));
        Set<String> named = new TreeSet<>();
        for (Matcher match = pattern.matcher(page); match.find(); ) {
            named.add(match.group(1));
        }
        return named;
    }
}
