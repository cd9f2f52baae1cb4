/// One class per subcommand of `millrace`, and what several of them share.
@NullMarked
package io.millrace.standalone.command;

import org.jspecify.annotations.NullMarked;
