/// The prefix cache as a service: its gRPC edge, its settings, its place in a Spring Boot application.
@NullMarked
package io.millrace.kvcache;

import org.jspecify.annotations.NullMarked;
