/// Measures whole models: prefill and decode speed beside the limits of the machine.
@NullMarked
package io.millrace.standalone.bench;

import org.jspecify.annotations.NullMarked;
