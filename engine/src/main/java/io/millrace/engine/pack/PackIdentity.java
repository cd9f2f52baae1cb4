package io.millrace.engine.pack;

import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.MlaForm;

/// What a pack was made from and for; packs of equal identity hold equal weights.
///
/// @param config   SHA-256 of `config.json`, in hex
/// @param source   identifies the tensors it was packed from, in hex; that of the configuration where
///                 they were generated
/// @param profile  number formats
/// @param form     form of attention, which decides the half of W_UK it holds
/// @param layouts  layouts of the kernels for each number format
record PackIdentity(String config, String source, WeightProfile profile, MlaForm form, String layouts) {}
