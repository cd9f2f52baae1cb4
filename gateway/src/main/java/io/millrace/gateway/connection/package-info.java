/// The client's connection: noticing that it hung up although nothing is being written to it.
@NullMarked
package io.millrace.gateway.connection;

import org.jspecify.annotations.NullMarked;
