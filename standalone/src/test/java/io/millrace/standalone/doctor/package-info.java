/// Tests of the doctor's findings.
@NullMarked
package io.millrace.standalone.doctor;

import org.jspecify.annotations.NullMarked;
