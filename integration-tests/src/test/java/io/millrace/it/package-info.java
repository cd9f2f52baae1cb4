/// Tests that span services, and what the build prints about all tests.
@NullMarked
package io.millrace.it;

import org.jspecify.annotations.NullMarked;
