/// Makes integer checkpoints: a rotation folded into the weights, scales searched for on calibration
/// text, written in compressed-tensors conventions.
@NullMarked
package io.millrace.engine.quantize;

import org.jspecify.annotations.NullMarked;
