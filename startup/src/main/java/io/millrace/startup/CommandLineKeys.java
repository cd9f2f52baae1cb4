package io.millrace.startup;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.error.NearestName;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;

/// Refuses a start with arguments that nobody reads: words, and options that are no key of the service, of the
/// framework or of a library. One wrong letter in `--server.address` would leave a port open to everybody. Keys below
/// `millrace.` are checked where they are bound.
public final class CommandLineKeys implements ApplicationContextInitializer<ConfigurableApplicationContext> {
    private static final Logger log = LoggerFactory.getLogger(CommandLineKeys.class);
    private static final String OPTION = "--";
    private static final String FRAMEWORK = "spring.";

    private final List<String> arguments;

    /// @param arguments  of the process
    public CommandLineKeys(String... arguments) {
        this.arguments = List.of(arguments);
    }

    @Override
    public void initialize(ConfigurableApplicationContext context) {
        if (arguments.stream().allMatch(CommandLineKeys::isOwn)) {
            return;
        }
        FrameworkKeys known = FrameworkKeys.read(CommandLineKeys.class.getClassLoader());
        // After the service's settings are known, before anything is made of them.
        context.addBeanFactoryPostProcessor(factory -> check(factory, known));
    }

    private static boolean isOwn(String argument) {
        return argument.toLowerCase(Locale.ROOT).startsWith(OPTION + KeySections.PREFIX);
    }

    private void check(ConfigurableListableBeanFactory factory, FrameworkKeys known) {
        for (int i = 0; i < arguments.size(); i++) {
            String argument = arguments.get(i);
            if (isOwn(argument)) {
                continue;
            }
            if (!argument.startsWith(OPTION) || argument.equals(OPTION)) {
                throw refused(word(argument, i == 0 ? "" : arguments.get(i - 1)));
            }
            String name = name(argument);
            if (!name.isEmpty() && known.contains(name)) {
                continue;
            }
            List<String> names = new ArrayList<>(ServiceKeys.of(factory).keys());
            names.addAll(known.names());
            Optional<String> near = NearestName.of(name, names);
            if (near.isEmpty() && name.startsWith(FRAMEWORK)) {
                log.warn("{}{}: no library is known to read it", OPTION, name);
                continue;
            }
            throw refused(OPTION + name + ": unknown (expected: a key of this service"
                    + near.map(key -> "; nearest is " + OPTION + key).orElse("") + ")");
        }
    }

    private static String name(String option) {
        int end = option.indexOf('=');
        return option.substring(OPTION.length(), end < 0 ? option.length() : end);
    }

    private static String word(String word, String before) {
        if (before.startsWith(OPTION) && before.indexOf('=') < 0 && !word.startsWith("-")) {
            return before + ": without a value (expected: " + before + "=" + word + ", in one word)";
        }
        String bare = word.replaceFirst("^-+D?", "");
        return (word.isEmpty() ? "\"\"" : word) + ": not read (expected: "
                + (bare.indexOf('=') > 0 ? OPTION + bare : "options alone, each as --KEY=VALUE") + ")";
    }

    private static MillraceException refused(String sentence) {
        return new MillraceException(ErrorCode.INVALID_REQUEST, sentence);
    }
}
