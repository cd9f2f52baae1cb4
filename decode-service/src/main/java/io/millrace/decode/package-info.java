/// decode-service: continues sequences in a continuous batch and streams their tokens.
@NullMarked
package io.millrace.decode;

import org.jspecify.annotations.NullMarked;
