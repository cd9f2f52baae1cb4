/// The keys `millrace.*` of a command: who gave them, what they are called there, and what they mean.
@NullMarked
package io.millrace.standalone.keys;

import org.jspecify.annotations.NullMarked;
