/// Packed weights: made once from a source of tensors, kept in a file that engines map and share.
@NullMarked
package io.millrace.engine.pack;

import org.jspecify.annotations.NullMarked;
