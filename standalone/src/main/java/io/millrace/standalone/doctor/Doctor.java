package io.millrace.standalone.doctor;

import io.millrace.engine.chat.ChatTemplate;
import io.millrace.engine.checkpoint.GenerationDefaults;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.model.ModelPack;
import io.millrace.engine.tokenizer.Tokenizer;
import io.millrace.kernels.KernelCheck;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.provider.KernelProviders;
import io.millrace.kernels.provider.SelectedKernels;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;

/// Examines everything a start of Millrace needs. Nothing is left changed, no check stops the others.
public final class Doctor {
    private static final int JAVA_FEATURE = 25;
    private static final long MIN_HEAP_BYTES = 512L << 20;
    private static final int MAX_PORT = 65_535;

    private final Surroundings surroundings;

    public Doctor(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    /// One finding per subject, always in the same order.
    ///
    /// @param model    the model's folder
    /// @param kernels  what is to compute
    /// @param port     TCP port the gateway is to listen on
    public List<Finding> examine(Path model, AskedKernels kernels, int port) {
        return List.of(machine(), jdk(), kernels(kernels), model(model), tokenizer(model), template(model), port(port));
    }

    private Finding machine() {
        String subject = "machine";
        if (!surroundings.littleEndian()) {
            return Finding.fail(
                    subject,
                    surroundings.system() + " is big-endian; weights are mapped in place and need little-endian.");
        }
        if (surroundings.maxHeapBytes() < MIN_HEAP_BYTES) {
            return Finding.fail(
                    subject,
                    "The JVM may use " + mebibytes(surroundings.maxHeapBytes()) + " of heap, at least "
                            + mebibytes(MIN_HEAP_BYTES) + " are needed; raise -Xmx or the container's memory.");
        }
        try {
            Files.delete(Files.createTempFile(surroundings.temporaryFolder(), "millrace", null));
        } catch (IOException e) {
            return Finding.fail(
                    subject,
                    "The temporary folder " + surroundings.temporaryFolder()
                            + " cannot be written to; set -Djava.io.tmpdir to one that can.");
        }
        return Finding.ok(
                subject,
                "%s, %d processors, %s of memory, heap up to %s."
                        .formatted(
                                surroundings.system(),
                                surroundings.processors(),
                                mebibytes(surroundings.memoryBytes()),
                                mebibytes(surroundings.maxHeapBytes())));
    }

    private Finding jdk() {
        String subject = "jdk";
        if (surroundings.javaFeature() < JAVA_FEATURE) {
            return Finding.fail(
                    subject, "Java " + surroundings.java() + " is too old; install JDK 25 or set JAVA_HOME to one.");
        }
        List<String> missing = new ArrayList<>();
        if (!surroundings.vectorModule()) {
            missing.add("--add-modules jdk.incubator.vector");
        }
        if (!surroundings.jvmArguments().contains("-Xbatch")) {
            missing.add("-Xbatch");
        }
        if (!missing.isEmpty()) {
            return Finding.fail(
                    subject,
                    "The JVM runs without " + String.join(" and ", missing)
                            + ", so the vector kernels are absent or slow; start Millrace by ./millrace.");
        }
        return Finding.ok(subject, "Java " + surroundings.java() + ", with the flags Millrace needs.");
    }

    private Finding kernels(AskedKernels asked) {
        int threads = asked.threads() == 0 ? surroundings.processors() : asked.threads();
        try {
            SelectedKernels selected = KernelProviders.select(asked.provider(), threads, asked.isa());
            String chosen = selected.kernels().description();
            List<KernelCheck> checks = selected.kernels().check(EnumSet.allOf(QuantFormat.class));
            selected.kernels().close();
            return speed("Provider " + chosen + selected.declinedText(), checks);
        } catch (IllegalArgumentException e) {
            return Finding.fail("kernels", sentence(e));
        }
    }

    static Finding speed(String provider, List<KernelCheck> checks) {
        List<KernelCheck> slow = checks.stream()
                .filter(check -> check.verdict() == KernelCheck.Verdict.BELOW_FLOOR)
                .toList();
        if (!slow.isEmpty()) {
            return Finding.fail(
                    "kernels",
                    provider + "; slow in this process (billions of multiply-adds or elements a second): " + slow
                            + "; the next start may be luckier.");
        }
        return Finding.ok(
                "kernels",
                provider
                        + (checks.isEmpty() ? "." : "; " + checks.size() + " kernels are compiled as they should be."));
    }

    private Finding model(Path model) {
        try {
            ModelConfig config = ModelPack.inspect(model);
            GenerationDefaults.read(model);
            return Finding.ok(
                    "model",
                    "%s: %s with %d layers, vocabulary of %d, context of %d tokens."
                            .formatted(
                                    model,
                                    config.modelType(),
                                    config.layers(),
                                    config.vocabSize(),
                                    config.maxPositionEmbeddings()));
        } catch (MillraceException e) {
            return Finding.fail("model", sentence(e));
        }
    }

    private Finding tokenizer(Path model) {
        String subject = "tokenizer";
        try (Tokenizer tokenizer = Tokenizer.load(model)) {
            int rows = vocabSize(model);
            if (tokenizer.vocabSize() > rows) {
                return Finding.fail(
                        subject,
                        "The tokenizer knows ids up to " + (tokenizer.vocabSize() - 1) + ", the model only up to "
                                + (rows - 1) + "; they do not belong together.");
            }
            String text = "37 + 58 = 快速排序 🙂";
            String back = tokenizer.decode(tokenizer.encode(text), false);
            return text.equals(back)
                    ? Finding.ok(subject, tokenizer.vocabSize() + " tokens; a text came back unchanged.")
                    : Finding.fail(subject, "\"" + text + "\" came back as \"" + back + "\".");
        } catch (MillraceException e) {
            return Finding.fail(subject, sentence(e));
        }
    }

    /// Rows of the embedding; no limit if the configuration cannot be read, which is the model's finding.
    private static int vocabSize(Path model) {
        try {
            return ModelConfig.read(model).vocabSize();
        } catch (MillraceException e) {
            return Integer.MAX_VALUE;
        }
    }

    private Finding template(Path model) {
        try {
            if (ChatTemplate.load(model, Clock.systemUTC()).isPresent()) {
                return Finding.ok("template", "The chat template can be read.");
            }
            return Files.exists(model.resolve("config.json"))
                    ? Finding.ok("template", "The model has no chat template: completions work, chat is refused.")
                    : Finding.fail("template", "There is no chat template, as there is no model in " + model + ".");
        } catch (MillraceException e) {
            return Finding.fail("template", sentence(e));
        }
    }

    private Finding port(int port) {
        if (port < 0 || port > MAX_PORT) {
            return Finding.fail("port", "Port " + port + " does not exist (expected: 0.." + MAX_PORT + ").");
        }
        try (ServerSocket socket = new ServerSocket(port)) {
            return Finding.ok("port", "Port " + socket.getLocalPort() + " is free.");
        } catch (IOException e) {
            Optional<String> served = PortHolder.servedModel(port);
            if (served.isPresent()) {
                return Finding.ok(
                        "port",
                        "Port " + port + " is in use by Millrace, which serves " + served.get()
                                + " there; another one needs another --port.");
            }
            return Finding.fail(
                    "port", "Port " + port + " cannot be used (" + e.getMessage() + "); choose another with --port.");
        }
    }

    private static String mebibytes(long sizeBytes) {
        return (sizeBytes >> 20) + " MiB";
    }

    private static String sentence(Exception e) {
        return e.getMessage() + ".";
    }
}
