package io.millrace.engine.model;

import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.settings.DsaSettings;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.engine.settings.KvSettings;
import io.millrace.engine.settings.WeightsSettings;
import io.millrace.kernels.KvFormat;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/// Loads models through a folder of packs, here or in another JVM.
final class PackRun {
    static final String STUCK = "stuck";
    static final String LOADED = "loaded after packing: ";

    private PackRun() {}

    static EngineSettings settings(String packs, String provider, WeightProfile profile) {
        return new EngineSettings(
                new KernelSettings(provider, 2, null, null),
                DsaSettings.defaults(),
                new KvSettings(KvFormat.F32, 640),
                new WeightsSettings(0, profile, packs));
    }

    /// Copies a small checkpoint.
    static Path copy(String model, Path target) {
        try {
            Files.createDirectories(target);
            for (String name : List.of("config.json", "model.safetensors")) {
                Files.copy(TestModels.directory(model).resolve(name), target.resolve(name));
            }
            return target;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// Names of the files of a folder that end so.
    static List<Path> files(Path folder, String suffix) {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(suffix))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// Logits of a short prompt.
    static List<float[]> logits(LoadedModel model) {
        try (ModelRig rig = new ModelRig(model, 4)) {
            return rig.finish(rig.open(rig.tokens(3, 16)), ModelRig.MAX_ROWS).logits;
        }
    }

    /// Starts [#main] in a JVM of its own.
    static Process start(String task, Path model, Path packs) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@" + Path.of(System.getProperty("millrace.root", ".."), "java.args"),
                "-cp",
                System.getProperty("java.class.path"),
                PackRun.class.getName(),
                task,
                model.toString(),
                packs.toString()));
        try {
            return new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// What the other JVM says, past its log.
    static String word(Process process) throws IOException {
        BufferedReader output = process.inputReader();
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            if (line.equals(STUCK) || line.startsWith(LOADED)) {
                return line;
            }
        }
        return "nothing";
    }

    /// Packs a model; the task `stuck` says so when something is written and goes no further.
    public static void main(String[] args) {
        Path model = Path.of(args[1]);
        EngineSettings settings = settings(args[2], "scalar", WeightProfile.W8A8);
        boolean[] packed = new boolean[1];
        LoadProgress progress = (what, done, total) -> {
            packed[0] = true;
            if (args[0].equals(STUCK)) {
                hang();
            }
        };
        try (LoadedModel loaded = LoadedModel.load(model, settings, progress)) {
            System.out.println(LOADED + packed[0] + " " + loaded.packFile().orElseThrow());
        }
    }

    private static void hang() {
        System.out.println(STUCK);
        System.out.flush();
        while (true) {
            java.util.concurrent.locks.LockSupport.park();
        }
    }
}
