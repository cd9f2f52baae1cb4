/// Draws tokens from logits without state: a draw is a function of seed, choice and position.
@NullMarked
package io.millrace.engine.sampling;

import org.jspecify.annotations.NullMarked;
