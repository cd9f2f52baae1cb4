package io.millrace.standalone.suite;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.LazyInitializationExcludeFilter;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;

/// Starts one service's application context inside the suite's process: its own defaults, no settings
/// from the working folder, gRPC on a free port of the loopback address, no management port.
final class ServiceStart {
    private static final String FREE_PORT = "0";

    private final SpringApplicationBuilder builder;
    private final Map<String, String> arguments = new LinkedHashMap<>();

    /// @param builder  of the service's application
    /// @param folder   of its settings on the class path
    ServiceStart(SpringApplicationBuilder builder, String folder) {
        this.builder = builder;
        set("spring.config.location", "classpath:/" + folder + "/");
        // The suite closes its contexts itself, in order; logging is the process's.
        set("spring.main.register-shutdown-hook", "false");
        set("spring.main.lazy-initialization", "true");
        set("spring.main.log-startup-info", "false");
        set("spring.cloud.discovery.enabled", "false");
        set("spring.cloud.refresh.enabled", "false");
        set("spring.cloud.compatibility-verifier.enabled", "false");
        set("management.metrics.use-global-registry", "false");
        beans(Map.of("ownBeansAreEager", (LazyInitializationExcludeFilter) ServiceStart::isEager));
    }

    /// What we wrote starts its threads when the service starts; the framework's beans wait until needed.
    private static boolean isEager(String name, BeanDefinition definition, Class<?> type) {
        return type.getName().startsWith("io.millrace.");
    }

    /// A service that answers gRPC alone.
    ServiceStart rpcOnly() {
        builder.web(WebApplicationType.NONE);
        // The gateway is closed before: nothing is under way any more.
        set("spring.lifecycle.timeout-per-shutdown-phase", "5s");
        set("spring.grpc.server.address", SuiteSettings.LOOPBACK);
        set("spring.grpc.server.port", FREE_PORT);
        set("spring.grpc.server.shutdown.grace-period", "5s");
        set("spring.cloud.gateway.server.webmvc.enabled", "false");
        return this;
    }

    /// A service that answers REST alone.
    ///
    /// @param grace  how long requests under way may go on once it is closed
    ServiceStart restOnly(String host, int port, Duration grace) {
        set("spring.lifecycle.timeout-per-shutdown-phase", grace.toMillis() + "ms");
        set("server.address", host);
        set("server.port", Integer.toString(port));
        set("management.server.port", "-1");
        set("spring.grpc.server.enabled", "false");
        return this;
    }

    ServiceStart set(String key, String value) {
        arguments.put(key, value);
        return this;
    }

    /// Those of the keys that are the service's own.
    ///
    /// @param section  its keys begin with, e.g. `millrace.prefill.`
    ServiceStart set(String section, Map<String, String> keys) {
        keys.forEach((key, value) -> {
            if (key.startsWith(section)) {
                set(key, value);
            }
        });
        return this;
    }

    /// Objects the service uses instead of making its own. They stay the suite's: the context does not
    /// close them.
    ServiceStart beans(Map<String, Object> shared) {
        ApplicationContextInitializer<ConfigurableApplicationContext> initializer = context ->
                shared.forEach((name, bean) -> context.getBeanFactory().registerSingleton(name, bean));
        builder.initializers(initializer);
        return this;
    }

    ConfigurableApplicationContext run() {
        return builder.run(arguments.entrySet().stream()
                .map(argument -> "--" + argument.getKey() + "=" + argument.getValue())
                .toArray(String[]::new));
    }

    /// Where a started service answers gRPC.
    static String target(ConfigurableApplicationContext context) {
        int port = context.getBean(GrpcServerLifecycle.class).getPort();
        return SuiteSettings.LOOPBACK + ":" + port;
    }
}
