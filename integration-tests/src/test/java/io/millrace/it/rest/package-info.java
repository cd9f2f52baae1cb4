/// The REST surface as a client sees it.
@NullMarked
package io.millrace.it.rest;

import org.jspecify.annotations.NullMarked;
