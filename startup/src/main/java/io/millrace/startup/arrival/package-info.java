/// How long requests may take to arrive: head and body, whatever route they ask for.
@NullMarked
package io.millrace.startup.arrival;

import org.jspecify.annotations.NullMarked;
