/// Blocks and pages of cached keys and values: their identity, integrity and layout.
@NullMarked
package io.millrace.engine.kv;

import org.jspecify.annotations.NullMarked;
