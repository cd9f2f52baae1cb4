/// Tests of measuring models.
@NullMarked
package io.millrace.standalone.bench;

import org.jspecify.annotations.NullMarked;
