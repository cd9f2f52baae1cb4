/// Number formats of weight matrices: which matrix is computed in which format.
@NullMarked
package io.millrace.engine.profile;

import org.jspecify.annotations.NullMarked;
