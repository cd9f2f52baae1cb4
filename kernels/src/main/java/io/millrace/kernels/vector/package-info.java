/// The provider that computes in SIMD lanes with `jdk.incubator.vector`, the only package that imports it.
@NullMarked
package io.millrace.kernels.vector;

import org.jspecify.annotations.NullMarked;
