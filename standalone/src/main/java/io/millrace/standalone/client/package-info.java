/// A client of the suite's REST surface, for the commands that ask a model.
@NullMarked
package io.millrace.standalone.client;

import org.jspecify.annotations.NullMarked;
