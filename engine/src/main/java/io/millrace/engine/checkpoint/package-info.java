/// Reads Hugging Face checkpoints: config.json, safetensors, generation_config.json; trusts nothing in
/// them.
@NullMarked
package io.millrace.engine.checkpoint;

import org.jspecify.annotations.NullMarked;
