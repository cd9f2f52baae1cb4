/// Between the wire's generate messages and the engine's sequences: translation, the instance's identity,
/// and the way of blocks from and to the prefix cache.
@NullMarked
package io.millrace.rpc.generate;

import org.jspecify.annotations.NullMarked;
