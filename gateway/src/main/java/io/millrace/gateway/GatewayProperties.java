package io.millrace.gateway;

import io.millrace.rpc.ServiceTarget;
import jakarta.validation.Valid;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotEmpty;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;
import org.springframework.validation.annotation.Validated;

/// `millrace.gateway.*`.
///
/// @param prefillTargets     gRPC targets; `dns:///` is resolved again and again; none: decode computes
///                           all prompts
/// @param decodeTargets      gRPC targets
/// @param kvCacheTargets     gRPC targets, to release leases of failed requests; none: they run out by
///                           themselves
/// @param smallPromptTokens  prompts of at most this many tokens are computed by decode itself; 0: none
/// @param describeInterval   how often instances are asked who they are
/// @param describeTimeout    how long one has to answer that
@Validated
@ConfigurationProperties(prefix = "millrace.gateway", ignoreUnknownFields = false)
public record GatewayProperties(
        @DefaultValue("static://localhost:9101") List<String> prefillTargets,
        @NotEmpty @DefaultValue("static://localhost:9102") List<String> decodeTargets,
        @DefaultValue("static://localhost:9103") List<String> kvCacheTargets,
        @Min(0) @DefaultValue("0") int smallPromptTokens,
        @DefaultValue("1s") Duration describeInterval,
        @DefaultValue("1s") Duration describeTimeout,
        @Valid @DefaultValue Limits limits,
        @Valid @DefaultValue Retries retries) {
    private static final Duration SHORTEST = Duration.ofMillis(10);
    private static final Duration HOUR = Duration.ofHours(1);
    private static final Duration DAY = Duration.ofDays(1);
    private static final Duration LONGEST_REQUEST = Duration.ofDays(30);
    private static final int MAX_CHOICES = 16;
    private static final DataSize LARGEST_BODY = DataSize.ofGigabytes(1);

    public GatewayProperties {
        ServiceTarget.require("prefillTargets", prefillTargets);
        ServiceTarget.require("decodeTargets", decodeTargets);
        ServiceTarget.require("kvCacheTargets", kvCacheTargets);
        SettingRange.require("describeInterval", describeInterval, SHORTEST, HOUR);
        SettingRange.require("describeTimeout", describeTimeout, SHORTEST, HOUR);
    }

    /// `millrace.gateway.limits.*`.
    ///
    /// @param maxRunningChoices    choices generated at a time; a request with `n` counts n times. The
    ///                             default keeps one decode instance busy, and it refuses none of them
    /// @param maxWaitingRequests   requests that wait for their turn
    /// @param tokenizerThreads     threads that tokenize texts of up to 262,144 characters, and as many
    ///                             for longer ones
    /// @param maxWaitingTexts      texts of each kind that wait for such a thread
    /// @param maxWait              how long a request or text waits before it is refused
    /// @param maxChoices           largest `n`; unset: 16, or `maxRunningChoices` if that is less
    /// @param maxBodySize          largest request body
    /// @param headTimeout          from the first byte of a request to the end of its headers
    /// @param bodyTimeout          from a request's head to the last byte of its body
    /// @param requestTimeout       from admission to the last token
    /// @param keepAliveInterval    a stream without tokens for this long gets a comment
    public record Limits(
            @Min(1) @DefaultValue("32") int maxRunningChoices,
            @Min(0) @DefaultValue("256") int maxWaitingRequests,
            @Min(1) @Max(1024) @DefaultValue("2") int tokenizerThreads,
            @Min(1) @Max(65_536) @DefaultValue("256") int maxWaitingTexts,
            @DefaultValue("30s") Duration maxWait,
            @Min(1) @Max(128) @Nullable Integer maxChoices,
            @DefaultValue("8MB") DataSize maxBodySize,
            @DefaultValue("30s") Duration headTimeout,
            @DefaultValue("60s") Duration bodyTimeout,
            @DefaultValue("10m") Duration requestTimeout,
            @DefaultValue("15s") Duration keepAliveInterval) {
        public Limits {
            SettingRange.require("maxWait", maxWait, Duration.ZERO, DAY);
            SettingRange.require("maxBodySize", maxBodySize, DataSize.ofBytes(1), LARGEST_BODY);
            SettingRange.require("headTimeout", headTimeout, SHORTEST, DAY);
            SettingRange.require("bodyTimeout", bodyTimeout, SHORTEST, DAY);
            SettingRange.require("requestTimeout", requestTimeout, SHORTEST, LONGEST_REQUEST);
            SettingRange.require("keepAliveInterval", keepAliveInterval, SHORTEST, DAY);
            if (maxChoices == null) {
                maxChoices = Math.clamp(maxRunningChoices, 1, MAX_CHOICES);
            } else if (maxChoices > maxRunningChoices) {
                throw new IllegalArgumentException("max-choices: " + maxChoices
                        + " (expected: at most max-running-choices=" + maxRunningChoices + ")");
            }
        }

        @Override
        public Integer maxChoices() {
            return Objects.requireNonNull(maxChoices);
        }
    }

    /// `millrace.gateway.retries.*`.
    ///
    /// @param prefillAttempts  instances asked to compute a prompt before decode does it itself
    /// @param decodeAttempts   decode calls of one choice
    /// @param resumeWait       how long a stream whose decode died waits for another instance
    public record Retries(
            @Min(1) @DefaultValue("2") int prefillAttempts,
            @Min(1) @DefaultValue("3") int decodeAttempts,
            @DefaultValue("5s") Duration resumeWait) {
        public Retries {
            SettingRange.require("resumeWait", resumeWait, Duration.ZERO, DAY);
        }
    }
}
