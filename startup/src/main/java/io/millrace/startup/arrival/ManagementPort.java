package io.millrace.startup.arrival;

import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.SmartLifecycle;

/// Bounds how long requests to a management port take to arrive, and ends the bodies under way when the service does,
/// before the web server waits for those who read them.
public final class ManagementPort implements WebServerFactoryCustomizer<TomcatServletWebServerFactory>, SmartLifecycle {
    private final Class<? extends ArrivalProtocol> protocol;
    private final ArrivalLimits limits;
    private final Arrivals arrivals = new Arrivals();
    private volatile boolean running;

    /// @param protocol  has a constructor without parameters
    public ManagementPort(Class<? extends ArrivalProtocol> protocol, ArrivalLimits limits) {
        this.protocol = protocol;
        this.limits = limits;
    }

    @Override
    public void customize(TomcatServletWebServerFactory factory) {
        factory.setProtocol(protocol.getName());
        factory.addConnectorCustomizers(connector -> ArrivalProtocol.bound(connector, limits, arrivals));
    }

    @Override
    public void start() {
        running = true;
    }

    @Override
    public void stop() {
        running = false;
        arrivals.close();
    }

    @Override
    public boolean isRunning() {
        return running;
    }
}
