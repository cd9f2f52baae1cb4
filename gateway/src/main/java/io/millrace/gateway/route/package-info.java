/// The gateway's routes and their handlers.
@NullMarked
package io.millrace.gateway.route;

import org.jspecify.annotations.NullMarked;
