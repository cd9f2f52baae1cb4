package io.millrace.engine.pack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.IntegerPanels;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.ScaleAxis;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

class PackIndexTest {
    private static final long END = 1 << 20;

    // int8 [16, 8]: one panel of two quads, 16 scales
    private static PackEntry sound() {
        return new PackEntry(
                "a", QuantFormat.W8A8, 16, 8, 8, ScaleAxis.OUTPUT, IntegerPanels.NAME, 4096, 16 * 8 + 16 * 4);
    }

    private static PackIndex index(PackEntry... entries) {
        PackIdentity identity = new PackIdentity("c", "s", WeightProfile.W8A8, MlaForm.NAIVE, "l");
        return new PackIndex(identity, "d", "/model", List.of(entries), List.of(7));
    }

    private static void assertRefused(String why, PackEntry... entries) {
        assertThatThrownBy(() -> PackIndex.decode(index(entries).encode(), END))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(why);
    }

    @Test
    void isReadAsItWasWritten() throws IOException {
        PackIndex index = index(sound());
        assertThat(PackIndex.decode(index.encode(), END)).isEqualTo(index);
    }

    @Test
    void refusesEntriesOutsideTheContentOrOnTopOfEachOther() {
        PackEntry sound = sound();
        assertRefused("expected: inside", sound, sound);
        assertRefused("expected: inside", moved(sound, 0));
        assertRefused("expected: inside", moved(sound, 4100));
        assertRefused("expected: inside", moved(sound, END - 64));
        assertRefused("expected: inside", moved(sound, Long.MAX_VALUE - 63));
    }

    @Test
    void refusesEntriesThatKernelsWouldReadBeyond() {
        assertRefused(
                "128 bytes",
                new PackEntry("a", QuantFormat.W8A8, 16, 8, 8, ScaleAxis.OUTPUT, IntegerPanels.NAME, 4096, 128));
        assertRefused(
                "shape",
                new PackEntry("a", QuantFormat.W4A8, 16, 8, 3, ScaleAxis.OUTPUT, IntegerPanels.NAME, 4096, 4096));
        assertRefused("other", new PackEntry("a", QuantFormat.W8A8, 16, 8, 8, ScaleAxis.OUTPUT, "other", 4096, 192));
        assertRefused("expected: 512", floats("rows", 16, 508));
        assertRefused("expected: 512", floats("rows", 16, 516));
        assertRefused("shape", new PackEntry("a", QuantFormat.F32, 0, 8, 8, ScaleAxis.OUTPUT, "rows", 4096, 512));
    }

    @Test
    void countsThePaddingOfPanels() throws IOException {
        assertRefused("expected: 512", floats("float-panels-16", 1, 32));
        assertRefused("expected: 1024", floats("float-panels-16", 17, 17 * 32));
        PackIndex padded = index(floats("float-panels-16", 1, 512));
        assertThat(PackIndex.decode(padded.encode(), END)).isEqualTo(padded);
    }

    // float32 [rows, 8]
    private static PackEntry floats(String layout, int rows, long sizeBytes) {
        return new PackEntry("a", QuantFormat.F32, rows, 8, 8, ScaleAxis.OUTPUT, layout, 4096, sizeBytes);
    }

    @Test
    void refusesAnIndexThatIsCutShort() {
        byte[] whole = index(sound()).encode();
        for (int length = 0; length < whole.length; length++) {
            byte[] part = java.util.Arrays.copyOf(whole, length);
            assertThatThrownBy(() -> PackIndex.decode(part, END)).isInstanceOf(IOException.class);
        }
    }

    private static PackEntry moved(PackEntry entry, long offset) {
        return new PackEntry(
                entry.name(),
                entry.format(),
                entry.rows(),
                entry.columns(),
                entry.group(),
                entry.axis(),
                entry.layout(),
                offset,
                entry.sizeBytes());
    }
}
