/// Tests of block identity and layout.
@NullMarked
package io.millrace.engine.kv;

import org.jspecify.annotations.NullMarked;
