package io.millrace.startup;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.kernels.provider.KernelProviders;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.ConfigurationPropertiesBindException;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.DataObjectPropertyName;
import org.springframework.boot.context.properties.bind.UnboundConfigurationPropertiesException;
import org.springframework.boot.context.properties.bind.validation.BindValidationException;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.core.convert.ConversionFailedException;
import org.springframework.core.convert.ConverterNotFoundException;
import org.springframework.validation.FieldError;
import org.springframework.validation.ObjectError;

/// Finds in an exception of a start what whoever gave the settings has to know. What is no fault of the
/// settings has no sentence.
public final class StartFailure {
    private static final String MODEL_PATH = "millrace.model.path: ";
    private static final String PROVIDER = "millrace.kernels.provider: ";
    /// What a sentence of ours begins with: a key, as it is written where it is set.
    private static final List<String> OURS = List.of("millrace.", "-Dmillrace.", "millrace_");
    /// `capacityBytes: 0 (expected: 1 or more)`, as constructors of settings say it.
    private static final Pattern OF_ONE_KEY = Pattern.compile("[a-zA-Z][a-zA-Z.-]*: .*", Pattern.DOTALL);

    private StartFailure() {}

    /// The sentence, with the key at fault.
    public static Optional<String> sentence(Throwable failure) {
        BindException innermost = null;
        AcceptedValues.Section section = null;
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            switch (cause) {
                case UnboundConfigurationPropertiesException unknown -> {
                    return Optional.of(UnknownKeys.sentence(unknown, innermost));
                }
                case MillraceException known -> {
                    return Optional.of(ofModel(known));
                }
                case IllegalArgumentException refused
                when isOurs(refused) -> {
                    return Optional.of(String.valueOf(refused.getMessage()));
                }
                case IllegalArgumentException refused
                when isOfProvider(refused) -> {
                    return Optional.of(PROVIDER
                            + String.valueOf(refused.getMessage()).substring(KernelProviders.SUBJECT.length()));
                }
                case ConfigurationPropertiesBindException bean ->
                    section = new AcceptedValues.Section(prefix(bean.getAnnotation()), bean.getBeanType());
                case BindException bind -> innermost = bind;
                default -> {}
            }
        }
        return innermost == null ? Optional.empty() : ofBinding(innermost, section);
    }

    private static String prefix(ConfigurationProperties annotation) {
        return annotation.prefix().isEmpty() ? annotation.value() : annotation.prefix();
    }

    private static String ofModel(MillraceException e) {
        String message = String.valueOf(e.getMessage());
        return e.code() == ErrorCode.INVALID_CHECKPOINT ? MODEL_PATH + message : message;
    }

    private static boolean isOurs(IllegalArgumentException e) {
        String message = e.getMessage();
        return message != null
                && OURS.stream().anyMatch(start -> message.regionMatches(true, 0, start, 0, start.length()));
    }

    private static boolean isOfProvider(IllegalArgumentException e) {
        return e.getMessage() != null && e.getMessage().startsWith(KernelProviders.SUBJECT);
    }

    private static Optional<String> ofBinding(BindException e, AcceptedValues.@Nullable Section bean) {
        String key = e.getName().toString();
        ConfigurationProperty property = e.getProperty();
        AcceptedValues.@Nullable Section section =
                bean == null ? EngineKeys.section(key).orElse(null) : bean;
        for (Throwable cause = e.getCause(); cause != null; cause = cause.getCause()) {
            switch (cause) {
                case BindValidationException invalid -> {
                    return violation(invalid);
                }
                case ConversionFailedException conversion -> {
                    return Optional.of(convertible(
                            key, property, conversion.getTargetType().getType(), section));
                }
                case ConverterNotFoundException conversion -> {
                    return Optional.of(convertible(
                            key, property, conversion.getTargetType().getType(), section));
                }
                default -> {}
            }
        }
        return refusal(e).map(said -> key + separator(said) + said);
    }

    private static Optional<String> violation(BindValidationException e) {
        String prefix = e.getValidationErrors().getName().toString();
        for (ObjectError error : e.getValidationErrors()) {
            if (error instanceof FieldError field) {
                String key = DataObjectPropertyName.toDashedForm(field.getField());
                return Optional.of(
                        prefix + "." + key + ": " + field.getRejectedValue() + " " + field.getDefaultMessage());
            }
        }
        return Optional.empty();
    }

    private static String convertible(
            String key,
            @Nullable ConfigurationProperty property,
            Class<?> type,
            AcceptedValues.@Nullable Section section) {
        String value = property == null ? "" : String.valueOf(property.getValue());
        return key + ": \"" + value + "\" (expected: " + AcceptedValues.of(key, value, type, section) + ")";
    }

    /// What a constructor of settings said.
    private static Optional<String> refusal(Throwable failure) {
        String said = null;
        for (Throwable cause = failure.getCause(); cause != null; cause = cause.getCause()) {
            if (cause instanceof IllegalArgumentException && cause.getMessage() != null) {
                said = cause.getMessage();
            }
        }
        return Optional.ofNullable(said).map(StartFailure::dashed);
    }

    private static String separator(String said) {
        return OF_ONE_KEY.matcher(said).matches() ? "." : ": ";
    }

    /// `capacityBytes: 0` as the key is written: `capacity-bytes: 0`.
    private static String dashed(String said) {
        int colon = said.indexOf(": ");
        return OF_ONE_KEY.matcher(said).matches()
                ? DataObjectPropertyName.toDashedForm(said.substring(0, colon)) + said.substring(colon)
                : said;
    }
}
