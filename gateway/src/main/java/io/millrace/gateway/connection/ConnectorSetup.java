package io.millrace.gateway.connection;

import io.millrace.gateway.error.JsonErrorReportValve;
import io.millrace.startup.arrival.ArrivalLimits;
import io.millrace.startup.arrival.ArrivalProtocol;
import io.millrace.startup.arrival.Arrivals;
import org.apache.catalina.core.StandardHost;
import org.apache.tomcat.util.buf.EncodedSolidusHandling;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;

/// Sets Tomcat up for the gateway: the connector that sees hang-ups, and JSON for errors no route
/// answers.
public final class ConnectorSetup implements WebServerFactoryCustomizer<TomcatServletWebServerFactory> {
    private final ArrivalLimits limits;
    private final Arrivals arrivals;

    /// @param arrivals  where requests are found that have not arrived in full
    public ConnectorSetup(ArrivalLimits limits, Arrivals arrivals) {
        this.limits = limits;
        this.arrivals = arrivals;
    }

    @Override
    public void customize(TomcatServletWebServerFactory factory) {
        factory.setProtocol(GatewayProtocol.class.getName());
        factory.addConnectorCustomizers(connector -> ArrivalProtocol.bound(connector, limits, arrivals));
        // Clients write the slash of a model id as %2F; Spring reads the path as it was written.
        factory.addConnectorCustomizers(
                connector -> connector.setEncodedSolidusHandling(EncodedSolidusHandling.PASS_THROUGH.getValue()));
        answerInJson(factory);
    }

    /// Errors that no handler answers.
    static void answerInJson(TomcatServletWebServerFactory factory) {
        factory.addContextCustomizers(context -> {
            if (context.getParent() instanceof StandardHost host) {
                host.setErrorReportValveClass(JsonErrorReportValve.class.getName());
            }
        });
    }
}
