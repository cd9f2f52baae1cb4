/// Tests of text to token ids and back.
@NullMarked
package io.millrace.engine.tokenizer;

import org.jspecify.annotations.NullMarked;
