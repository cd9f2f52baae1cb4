/// Tests with files that are not what is expected.
@NullMarked
package io.millrace.engine.file;

import org.jspecify.annotations.NullMarked;
