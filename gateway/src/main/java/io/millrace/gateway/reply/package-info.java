/// Reply events as OpenAI-shaped chunks and bodies.
@NullMarked
package io.millrace.gateway.reply;

import org.jspecify.annotations.NullMarked;
