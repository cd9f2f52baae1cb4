/// Parts of the commands.
@NullMarked
package io.millrace.standalone.command;

import org.jspecify.annotations.NullMarked;
