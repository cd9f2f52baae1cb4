/// Settings of an engine, as plain validated records that a service binds from its configuration.
@NullMarked
package io.millrace.engine.settings;

import org.jspecify.annotations.NullMarked;
