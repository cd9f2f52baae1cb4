package io.millrace.engine.pack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PackDirectoryTest {

    @Test
    void theDefaultIsInTheUsersCacheFolder() {
        assertThat(PackDirectory.of(null, Map.of("XDG_CACHE_HOME", "/c")::get, "/home/u"))
                .contains(new PackDirectory(Path.of("/c/millrace"), false));
        assertThat(PackDirectory.of(null, Map.<String, String>of()::get, "/home/u"))
                .contains(new PackDirectory(Path.of("/home/u/.cache/millrace"), false));
    }

    @Test
    void aUserWithoutAHomePacksIntoMemory() {
        assertThat(PackDirectory.of(null, Map.<String, String>of()::get, "?")).isEmpty();
    }

    @Test
    void theSettingWins() {
        Map<String, String> environment = Map.of("XDG_CACHE_HOME", "/c");
        assertThat(PackDirectory.of("/packs", environment::get, "/home/u"))
                .contains(new PackDirectory(Path.of("/packs"), true));
        assertThat(PackDirectory.of("off", environment::get, "/home/u")).isEmpty();
    }

    @Test
    void aSettingThatIsNoPathIsRefusedByItsKey() {
        assertThatThrownBy(() -> PackDirectory.of("/a\0b", Map.<String, String>of()::get, "/home/u"))
                .isExactlyInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("millrace.weights.pack-dir: \"/a\0b\": ")
                .hasMessageEndingWith(" (expected: a folder that has a path here, or off)");
    }

    @Test
    void defaultsThatAreNoPathsArePassedOver() {
        assertThat(PackDirectory.of(null, Map.of("XDG_CACHE_HOME", "/c\0")::get, "/home/u"))
                .contains(new PackDirectory(Path.of("/home/u/.cache/millrace"), false));
        assertThat(PackDirectory.of(null, Map.<String, String>of()::get, "/home/\0"))
                .isEmpty();
        assertThat(PackDirectory.of(null, Map.of("XDG_CACHE_HOME", "/c")::get, "/home/\0"))
                .contains(new PackDirectory(Path.of("/c/millrace"), false));
    }
}
