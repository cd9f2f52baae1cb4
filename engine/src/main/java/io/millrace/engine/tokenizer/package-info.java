/// Text to token ids and back, after a checkpoint's `tokenizer.json`.
@NullMarked
package io.millrace.engine.tokenizer;

import org.jspecify.annotations.NullMarked;
