package io.millrace.standalone.keys;

import io.millrace.engine.error.MillraceException;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.kernels.provider.KernelProviders;
import io.millrace.startup.EngineKeys;
import io.millrace.startup.StartFailure;
import java.io.IOException;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.MutablePropertySources;
import org.springframework.core.env.StandardEnvironment;

/// Keys and who gave them. What is wrong with one is told by the name that whoever gave it knows.
public final class GivenKeys {
    private static final String PROVIDER = "millrace.kernels.provider";

    private final Map<String, GivenKey> given;

    /// @param given  by key, in its dashed form
    public GivenKeys(Map<String, GivenKey> given) {
        this.given = new TreeMap<>(given);
    }

    /// Of one key; empty if nobody gave it.
    public Optional<GivenKey> of(String key) {
        return Optional.ofNullable(given.get(key));
    }

    /// Those that a service binds itself, by key.
    public Map<String, String> ofServices() {
        Map<String, String> found = new LinkedHashMap<>();
        given.forEach((key, value) -> {
            if (SuiteKeys.SERVICES.keySet().stream().anyMatch(section -> key.startsWith(section + "."))) {
                found.put(key, value.value());
            }
        });
        return found;
    }

    /// Settings of an engine.
    ///
    /// @throws IllegalArgumentException  if one is refused, by the name of its source
    public EngineSettings engine() {
        StandardEnvironment environment = new StandardEnvironment();
        MutablePropertySources sources = environment.getPropertySources();
        sources.stream().toList().forEach(source -> sources.remove(source.getName()));
        Map<String, Object> values = new LinkedHashMap<>();
        given.forEach((key, value) -> values.put(key, value.value()));
        sources.addFirst(new MapPropertySource("given", values));
        EngineSettings settings;
        try {
            settings = EngineKeys.bind(environment);
        } catch (BindException e) {
            throw refused(e);
        }
        String provider = settings.kernels().provider();
        KernelProviders.refusal(provider).ifPresent(refusal -> {
            throw new IllegalArgumentException(named(PROVIDER + ": " + provider + refusal));
        });
        return settings;
    }

    /// @throws IllegalArgumentException  if a key of a service is refused, by the name of its source
    public void requireSound() {
        try {
            ServiceKeys.check(ofServices());
        } catch (BindException e) {
            throw refused(e);
        }
    }

    private IllegalArgumentException refused(BindException e) {
        return new IllegalArgumentException(
                named(StartFailure.sentence(e).orElseGet(() -> String.valueOf(e.getMessage()))), e);
    }

    /// A sentence with the names of the sources in place of the keys.
    String named(String sentence) {
        String said = sentence.startsWith(KernelProviders.SUBJECT) && given.containsKey(PROVIDER)
                ? PROVIDER + ": " + sentence.substring(KernelProviders.SUBJECT.length())
                : sentence;
        List<String> longestFirst = given.keySet().stream()
                .sorted(Comparator.comparingInt(String::length).reversed())
                .toList();
        for (String key : longestFirst) {
            GivenKey one = given.get(key);
            if (one != null) {
                said = Pattern.compile("(?<![\\w.-])" + Pattern.quote(key) + "(?![\\w-]|\\.\\w)")
                        .matcher(said)
                        .replaceAll(Matcher.quoteReplacement(one.source()));
            }
        }
        return said;
    }

    /// Does what may fail because of a key.
    public interface Work<T extends @Nullable Object> {
        T done() throws IOException;
    }

    /// Does it; a failure names the sources of keys instead of the keys.
    public <T extends @Nullable Object> T naming(Work<T> work) throws IOException {
        try {
            return work.done();
        } catch (MillraceException e) {
            String message = String.valueOf(e.getMessage());
            String said = named(message);
            throw said.equals(message)
                    ? e
                    : new MillraceException(e.code(), said, e.param().orElse(null), e.retryAfterMillis(), e);
        } catch (IllegalArgumentException e) {
            String message = e.getMessage();
            throw message == null || named(message).equals(message)
                    ? e
                    : new IllegalArgumentException(named(message), e);
        }
    }
}
