/// Request bodies as validated records.
@NullMarked
package io.millrace.gateway.request;

import org.jspecify.annotations.NullMarked;
