/// The model: packed weights and the forward pass over rows of several sequences.
@NullMarked
package io.millrace.engine.model;

import org.jspecify.annotations.NullMarked;
