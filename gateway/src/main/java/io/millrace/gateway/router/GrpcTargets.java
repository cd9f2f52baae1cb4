package io.millrace.gateway.router;

import io.millrace.rpc.ServiceTarget;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Configured gRPC targets as single instances. `dns:///host:port` stands for every address its name
/// resolves to, asked
/// again on each call, so that each instance is known by itself; anything else is one instance.
final class GrpcTargets {
    private static final Logger log = LoggerFactory.getLogger(GrpcTargets.class);

    private GrpcTargets() {}

    /// Targets a channel can be made for, each a single address. A name that does not resolve stands
    /// for none.
    static List<String> resolve(List<String> configured) {
        List<String> targets = new ArrayList<>();
        for (String target : configured) {
            if (target.startsWith(ServiceTarget.DNS)) {
                addAddresses(target.substring(ServiceTarget.DNS.length()), targets);
            } else {
                targets.add(ServiceTarget.forGrpc(target));
            }
        }
        return targets.stream().distinct().toList();
    }

    private static void addAddresses(String hostAndPort, List<String> targets) {
        int colon = hostAndPort.lastIndexOf(':');
        if (colon <= 0) {
            throw new IllegalArgumentException("target: dns:///" + hostAndPort + " (expected: dns:///host:port)");
        }
        try {
            for (InetAddress address : InetAddress.getAllByName(hostAndPort.substring(0, colon))) {
                String host = address.getHostAddress();
                targets.add((host.indexOf(':') >= 0 ? "[" + host + "]" : host) + hostAndPort.substring(colon));
            }
        } catch (UnknownHostException e) {
            log.debug("target dns:///{} does not resolve: {}", hostAndPort, e.getMessage());
        }
    }
}
