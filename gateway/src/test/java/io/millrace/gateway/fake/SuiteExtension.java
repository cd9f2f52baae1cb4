package io.millrace.gateway.fake;

import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/// Gives tests one shared [Suite], started once and reset before each test.
public final class SuiteExtension implements ParameterResolver, BeforeEachCallback {
    private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(Suite.class);

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == Suite.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return suite(context);
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        suite(context).reset();
    }

    private static Suite suite(ExtensionContext context) {
        return context.getRoot()
                .getStore(NAMESPACE)
                .computeIfAbsent(Suite.class, _ -> new Suite(Object.class), Suite.class);
    }
}
