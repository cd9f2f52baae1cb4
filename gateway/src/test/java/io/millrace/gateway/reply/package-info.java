/// Tests of replies.
@NullMarked
package io.millrace.gateway.reply;

import org.jspecify.annotations.NullMarked;
