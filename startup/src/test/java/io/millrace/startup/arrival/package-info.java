@NullMarked
package io.millrace.startup.arrival;

import org.jspecify.annotations.NullMarked;
