/// The REST surface of the suite: a Spring Cloud Gateway application whose every endpoint is a route.
@NullMarked
package io.millrace.gateway;

import org.jspecify.annotations.NullMarked;
