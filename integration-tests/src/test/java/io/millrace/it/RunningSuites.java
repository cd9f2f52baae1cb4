package io.millrace.it;

import io.millrace.it.process.SeparateSuite;
import io.millrace.it.process.ServiceProcess;
import io.millrace.it.rest.RestClient;
import io.millrace.standalone.suite.Suite;
import io.millrace.standalone.suite.SuiteSettings;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/// Gives test classes the suites they ask for: as a [OneProcess], or as a [SeparateSuite]. Each is started
/// once for all test classes, as starting takes most of the time.
public final class RunningSuites implements ParameterResolver {
    private static final Namespace NAMESPACE = Namespace.create(RunningSuites.class);

    /// The suite in the process of the tests, as `millrace up` runs it.
    public static final class OneProcess implements AutoCloseable {
        private final Suite suite;
        private final RestClient rest;

        private OneProcess() {
            this.suite = new Suite(SuiteSettings.of(ServiceProcess.root().resolve("models/mini")));
            suite.start((what, done, total) -> {});
            this.rest = new RestClient(suite.url());
        }

        public RestClient rest() {
            return rest;
        }

        public Suite suite() {
            return suite;
        }

        @Override
        public void close() {
            rest.close();
            suite.close();
        }
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = parameter.getParameter().getType();
        return type == OneProcess.class || type == SeparateSuite.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        ExtensionContext.Store store = context.getRoot().getStore(NAMESPACE);
        if (parameter.getParameter().getType() == OneProcess.class) {
            return store.computeIfAbsent(OneProcess.class, key -> new OneProcess());
        }
        return store.computeIfAbsent(SeparateSuite.class, key -> new SeparateSuite());
    }
}
