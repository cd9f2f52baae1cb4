/// One request's way through prefill and decode, as a stream of reply events.
@NullMarked
package io.millrace.gateway.generation;

import org.jspecify.annotations.NullMarked;
