/// The gRPC edge that every service shares: error translation, the client of the prefix cache, names of metrics.
@NullMarked
package io.millrace.rpc;

import org.jspecify.annotations.NullMarked;
