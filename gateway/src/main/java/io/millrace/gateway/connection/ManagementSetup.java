package io.millrace.gateway.connection;

import io.millrace.startup.arrival.ArrivalLimits;
import io.millrace.startup.arrival.ManagementPort;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextConfiguration;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextType;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;

/// The management port, which is a server of its own: bounds on its requests, and JSON for its errors.
@ManagementContextConfiguration(value = ManagementContextType.CHILD, proxyBeanMethods = false)
class ManagementSetup {
    @Bean
    ManagementPort managementPort(ArrivalLimits limits) {
        return new ManagementPort(GatewayProtocol.class, limits);
    }

    @Bean
    WebServerFactoryCustomizer<TomcatServletWebServerFactory> managementErrors() {
        return ConnectorSetup::answerInJson;
    }
}
