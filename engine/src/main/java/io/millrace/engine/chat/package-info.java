/// The chat format: messages into a prompt through the checkpoint's template, generated tokens back into
/// a reply.
@NullMarked
package io.millrace.engine.chat;

import org.jspecify.annotations.NullMarked;
