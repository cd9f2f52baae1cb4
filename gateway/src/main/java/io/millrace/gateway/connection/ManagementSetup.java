package io.millrace.gateway.connection;

import org.springframework.boot.actuate.autoconfigure.web.ManagementContextConfiguration;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextType;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;

/// JSON for errors of the management port, which is a server of its own.
@ManagementContextConfiguration(value = ManagementContextType.CHILD, proxyBeanMethods = false)
class ManagementSetup {
    @Bean
    WebServerFactoryCustomizer<TomcatServletWebServerFactory> managementErrors() {
        return ConnectorSetup::answerInJson;
    }
}
