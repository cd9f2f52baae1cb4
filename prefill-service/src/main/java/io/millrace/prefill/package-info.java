/// prefill-service: computes prompts and puts their blocks into the prefix cache.
@NullMarked
package io.millrace.prefill;

import org.jspecify.annotations.NullMarked;
