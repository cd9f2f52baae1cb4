/// Strict JSON at the edge: what is read is exactly what was written, or an error names the place.
@NullMarked
package io.millrace.gateway.json;

import org.jspecify.annotations.NullMarked;
