/// Fake services behind a real gateway.
@NullMarked
package io.millrace.gateway.fake;

import org.jspecify.annotations.NullMarked;
