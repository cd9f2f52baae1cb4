/// The tree of blocks, the leases over it, the room they take and the events they cause.
@NullMarked
package io.millrace.kvcache.store;

import org.jspecify.annotations.NullMarked;
