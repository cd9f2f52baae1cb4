/// Errors as HTTP answers in the OpenAI shape.
@NullMarked
package io.millrace.gateway.error;

import org.jspecify.annotations.NullMarked;
