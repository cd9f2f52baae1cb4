/// Tests of keys and where they are given.
@NullMarked
package io.millrace.standalone.keys;

import org.jspecify.annotations.NullMarked;
