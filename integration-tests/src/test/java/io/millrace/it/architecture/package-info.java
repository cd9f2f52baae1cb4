/// The house rules, as tests.
@NullMarked
package io.millrace.it.architecture;

import org.jspecify.annotations.NullMarked;
