/// The serving instances behind the gateway: who they are, which one takes a request.
@NullMarked
package io.millrace.gateway.router;

import org.jspecify.annotations.NullMarked;
