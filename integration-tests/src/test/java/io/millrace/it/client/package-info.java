/// Programs of others that speak to the suite.
@NullMarked
package io.millrace.it.client;

import org.jspecify.annotations.NullMarked;
