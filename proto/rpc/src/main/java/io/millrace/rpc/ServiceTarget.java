package io.millrace.rpc;

import io.grpc.NameResolverRegistry;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// Where a service is, as settings say it: `host:port` or `static://host:port` for one instance,
/// `dns:///host:port` for all addresses of a name, or a target of another scheme that gRPC knows.
public final class ServiceTarget {
    /// Before an address that is taken as it stands.
    public static final String STATIC = "static://";

    /// Before a name that is resolved.
    public static final String DNS = "dns:///";

    private static final Pattern ADDRESS = Pattern.compile("(?:\\[[0-9a-zA-Z:.%]+]|[^\\s:/,\\[\\]]+):(\\d{1,5})");
    private static final int MAX_PORT = 65_535;

    private ServiceTarget() {}

    /// @param key  of the setting
    /// @throws IllegalArgumentException  if no channel could be made for one of them
    public static void require(String key, List<String> targets) {
        for (String target : targets) {
            if (!isTarget(target)) {
                throw new IllegalArgumentException(key + ": " + (target.isBlank() ? "\"" + target + "\"" : target)
                        + " (expected: host:port, static://host:port or dns:///host:port)");
            }
        }
    }

    /// The target without what gRPC does not know.
    public static String forGrpc(String target) {
        return target.startsWith(STATIC) ? target.substring(STATIC.length()) : target;
    }

    private static boolean isTarget(String target) {
        if (target.startsWith(STATIC)) {
            return isAddress(target.substring(STATIC.length()));
        }
        if (target.startsWith(DNS)) {
            return isAddress(target.substring(DNS.length()));
        }
        return isAddress(target) || isOfKnownScheme(target);
    }

    private static boolean isAddress(String text) {
        Matcher address = ADDRESS.matcher(text);
        if (!address.matches()) {
            return false;
        }
        int port = Integer.parseInt(address.group(1));
        return port > 0 && port <= MAX_PORT;
    }

    private static boolean isOfKnownScheme(String target) {
        try {
            String scheme = new URI(target).getScheme();
            return scheme != null && NameResolverRegistry.getDefaultRegistry().getProviderForScheme(scheme) != null;
        } catch (URISyntaxException _) {
            return false;
        }
    }
}
