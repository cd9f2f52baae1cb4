/// Files that may be anything.
@NullMarked
package io.millrace.engine.file;

import org.jspecify.annotations.NullMarked;
