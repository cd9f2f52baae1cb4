package io.millrace.rpc;

import java.util.ArrayList;
import java.util.List;

/// Sizes of a block's sections in bytes: one for each layer, the last one for the boundary state.
public record SectionSizes(List<Integer> sectionBytes) {

    public SectionSizes {
        sectionBytes = List.copyOf(sectionBytes);
        if (sectionBytes.isEmpty()) {
            throw new IllegalArgumentException("sectionBytes: [] (expected: at least one section)");
        }
        for (int sizeBytes : sectionBytes) {
            if (sizeBytes <= 0) {
                throw new IllegalArgumentException("sectionBytes: " + sizeBytes + " (expected: 1 or more)");
            }
        }
    }

    public static SectionSizes of(int... sectionBytes) {
        List<Integer> sizes = new ArrayList<>(sectionBytes.length);
        for (int sizeBytes : sectionBytes) {
            sizes.add(sizeBytes);
        }
        return new SectionSizes(sizes);
    }

    public int count() {
        return sectionBytes.size();
    }

    public int bytes(int section) {
        return sectionBytes.get(section);
    }

    /// Bytes of a whole block.
    public long blockBytes() {
        long total = 0;
        for (int sizeBytes : sectionBytes) {
            total += sizeBytes;
        }
        return total;
    }
}
