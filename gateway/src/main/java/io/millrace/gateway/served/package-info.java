/// The model this gateway serves: tokenizer, chat template, limits, default sampling.
@NullMarked
package io.millrace.gateway.served;

import org.jspecify.annotations.NullMarked;
