package io.millrace.standalone;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.kv.KvLayout;
import io.millrace.engine.memory.MemoryLimits;
import io.millrace.kernels.KvFormat;
import io.millrace.standalone.command.Console;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/// What is wrong with an option is told by the option that was typed, what was found and what is accepted.
class OptionErrorTest {
    private static final String MINI =
            Path.of(System.getProperty("millrace.root", ".."), "models", "mini").toString();
    private static final String PROVIDERS = "auto, scalar, vector or native";
    private static final List<String> STARTING = List.of("up", "demo", "chat", "generate");

    @TempDir
    private Path folder;

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            --isa | bad | "bad" (expected: auto, portable, avx2, avxvnni or avx512)
            --isa | '' | "" (expected: auto, portable, avx2, avxvnni or avx512)
            --profile | bad | "bad" (expected: one of bf16, checkpoint, w4a8, w8a8)
            --profile | '' | "" (expected: one of bf16, checkpoint, w4a8, w8a8)
            --kv-format | bad | "bad" (expected: one of bf16, f32, int8)
            --kv-format | 0 | "0" (expected: one of bf16, f32, int8)
            --pack-dir | '' | "" (expected: a folder, or off)
            --served-model-name | '' | "" (expected: a model id; without it, it is the folder's name)
            --model | '' | "" (expected: a model folder; without it, it is the embedded one)
            --provider | '' | "" (expected: auto, scalar, vector or native)
            --provider | cuda | cuda (expected: auto, scalar, vector or native)
            --provider | -1 | "-1" (expected: auto, scalar, vector or native)
            --provider | ascend | ascend is not available: not part of this build \
            (expected: auto, scalar, vector or native)
            --millrace.kernels.threads | 1025 | 1025 (expected: 0 for one per processor, to 1024)
            --millrace.kv.pool-tokens | 99999999999999 | "99999999999999" (expected: 64..1073741824)
            --millrace.dsa.top-k | -1 | -1 (expected: 0 for dense attention, or the number of slots a row selects)
            --millrace.gateway.limits.max-choices | 0 | 0 must be greater than or equal to 1
            """)
    void anOptionOfASuiteIsNamed(String option, String value, String said) {
        for (String command : STARTING) {
            refused(option + ": " + said, command, option + "=" + value);
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            up | --port | -1 | -1 (expected: 0..65535)
            up | --port | 65536 | 65536 (expected: 0..65535)
            up | --port | 99999999999 | 99999999999 (expected: 0..65535)
            up | --port | '' | "" (expected: 0..65535)
            up | --port | x | "x" (expected: 0..65535)
            up | --shutdown-grace | x | "x" (expected: 1..3600)
            up | --shutdown-grace | 99999999999 | 99999999999 (expected: 1..3600)
            doctor | --port | x | "x" (expected: 0..65535)
            doctor | --port | 65536 | 65536 (expected: 0..65535)
            chat | --max-tokens | 0 | 0 (expected: 1..2147483647)
            generate | --max-tokens | 99999999999 | 99999999999 (expected: 1..2147483647)
            generate | --max-tokens | x | "x" (expected: 1..2147483647)
            generate | --temperature | -1 | -1 (expected: 0..2)
            generate | --temperature | 2.5 | 2.5 (expected: 0..2)
            generate | --temperature | NaN | NaN (expected: 0..2)
            generate | --temperature | warm | "warm" (expected: 0..2)
            chat | --temperature | '' | "" (expected: 0..2)
            generate | --seed | x | "x" (expected: -9223372036854775808..9223372036854775807)
            generate | --seed | 99999999999999999999 | 99999999999999999999 (expected: -9223372036854775808..922
            chat | --url | foo | "foo" (expected: one like http://127.0.0.1:8080)
            demo | --url | '' | "" (expected: one like http://127.0.0.1:8080)
            demo | --url | ftp://a | "ftp://a" (expected: one like http://127.0.0.1:8080)
            generate | --url | :: | "::" (expected: one like http://127.0.0.1:8080)
            bench | --threads | -1 | -1 (expected: 0..1024)
            bench | --threads | 99999999999 | 99999999999 (expected: 0..1024)
            bench | --threads | '' | "" (expected: 0..1024)
            bench | --kv-format | bad | "bad" (expected: one of bf16, f32, int8)
            bench | --kv-format | '' | "" (expected: one of bf16, f32, int8)
            doctor | --threads | 1025 | 1025 (expected: 0..1024)
            verify | --threads | x | "x" (expected: 0..1024)
            up | --threads | x | "x" (expected: 0..1024)
            doctor | --isa | bad | "bad" (expected: auto, portable, avx2, avxvnni or avx512)
            verify | --isa | bad | "bad" (expected: auto, portable, avx2, avxvnni or avx512)
            bench | --isa | bad | "bad" (expected: auto, portable, avx2, avxvnni or avx512)
            bench | --provider | '' | "" (expected: auto, scalar, vector or native)
            quantize | --threads | -1 | -1 (expected: 0..1024)
            quantize | --isa | bad | "bad" (expected: auto, portable, avx2, avxvnni or avx512)
            quantize | --provider | abacus | abacus (expected: auto, scalar, vector or native)
            bench | --provider | abacus | abacus (expected: auto, scalar, vector or native)
            bench | --decode | -1 | -1 (expected: 0..16777216)
            bench | --decode | x | "x" (expected: 0..16777216)
            bench | --prefill | 99999999999 | 99999999999 (expected: 1..16777216)
            bench | --depth | 99999999999 | 99999999999 (expected: 0..16777216)
            bench | --verify | 99999999999 | 99999999999 (expected: 1..64)
            bench | --chunk | 99999999999 | 99999999999 (expected: 1..8192)
            bench | --repeats | x | "x" (expected: 1..1000)
            bench | --warm-up-seconds | -1 | -1 (expected: 0..3600)
            bench | --warm-up-seconds | 3601 | 3601 (expected: 0..3600)
            bench | --peer-minutes | 0 | 0 (expected: 1..2147483647)
            verify | --provider | abacus | abacus (expected: auto, scalar, vector or native)
            verify | --provider | '' | "" (expected: auto, scalar, vector or native)
            doctor | --provider | '' | "" (expected: auto, scalar, vector or native)
            doctor | --provider | abacus | abacus (expected: auto, scalar, vector or native)
            bench | --provider | ascend | ascend is not available: not part of this build \
            (expected: auto, scalar, vector or native)
            verify | --provider | ascend | ascend is not available: not part of this build \
            (expected: auto, scalar, vector or native)
            doctor | --provider | ascend | ascend is not available: not part of this build \
            (expected: auto, scalar, vector or native)
            """)
    void anOptionIsNamed(String command, String option, String value, String said) {
        List<String> args = new ArrayList<>(List.of(command, option + "=" + value));
        if (command.equals("quantize")) {
            args.addAll(
                    List.of("--profile", "w8a8", "--out", folder.resolve("made").toString()));
        }
        if (List.of("bench", "verify", "doctor", "quantize").contains(command)) {
            args.addAll(List.of("--model", MINI));
        }
        refused(option + ": " + said, args.toArray(String[]::new));
    }

    /// All of them, so that none is forgotten; what `--model` says is told above.
    @Test
    void anEmptyPathIsToldByItsOption() {
        int asked = 0;
        for (CommandLine command : MillraceCommand.commandLine(Console.ofProcess())
                .getSubcommands()
                .values()) {
            for (OptionSpec option : command.getCommandSpec().options()) {
                if (option.type() == Path.class && !option.longestName().equals("--model")) {
                    for (String empty : List.of("", " ")) {
                        refused(
                                option.longestName() + ": \"" + empty + "\" (expected: a "
                                        + (option.paramLabel().equals("DIR") ? "folder" : "file") + ")",
                                command.getCommandName(),
                                option.longestName() + "=" + empty);
                        asked++;
                    }
                }
            }
        }
        assertThat(asked).isEqualTo(18);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            up --modle x | --modle: unknown (expected: an option of millrace up; nearest is --model)
            up --modle=x | --modle: unknown (expected: an option of millrace up; nearest is --model)
            up --prot 1 | --prot: unknown (expected: an option of millrace up; nearest is --port)
            bench --repeat 1 | --repeat: unknown (expected: an option of millrace bench; nearest is --repeats)
            synthesize --confg x | --confg: unknown (expected: an option of millrace synthesize; nearest is --config)
            up --xyzzy | --xyzzy: unknown (expected: an option of millrace up)
            bnech | bnech: unknown (expected: a command; nearest is bench)
            fly | fly: unknown (expected: a command)
            upp | upp: unknown (expected: a command; nearest is up)
            pu | pu: unknown (expected: a command; nearest is up)
            up --server.port=8089 | --server.port: unknown (expected: an option of millrace up; nearest is --port)
            up --server.address=::1 | --server.address: unknown (expected: an option of millrace up; nearest is --host)
            chat --server.port=1 | --server.port: unknown (expected: an option of millrace chat)
            up more | "more": unknown (expected: options alone)
            generate a b | "b": one word too many (expected: one PROMPT, in quotes if it has spaces)
            up --millrace.kernels.threads 2 | --millrace.kernels.threads: without a value (expected: --millrace.kern
            generate --millrace.kv.format int8 Hi | --millrace.kv.format: without a value (expected: --millrace.kv.f
            --verison | --verison: unknown (expected: an option of millrace; nearest is --version)
            up --millrace.kernel.threads=1 | --millrace.kernel.threads: unknown (expected: a key of a service; neare
            bench --millrace.kernels.threads=1 | --millrace.kernels.threads: not taken here (expected: after up, demo
            up -Dmillrace.kernels.threads=1 | -Dmillrace.kernels.threads: unknown (expected: --millrace.kernels.thre
            """)
    void aMisspeltNameIsToldWithTheNearest(String line, String said) {
        refused(said, line.split(" "));
    }

    @ParameterizedTest
    @ValueSource(strings = {"up", "demo", "chat", "generate"})
    void keysOfTheEnvironmentAndOfTheProcessAreRead(String command) {
        byte[] input = "Hi".getBytes(StandardCharsets.UTF_8);
        CommandRun run = CommandRun.of(input, Map.of("MILLRACE_KERNELS_THREADS", "-1"), command);
        assertThat(run.errors()).startsWith("millrace: MILLRACE_KERNELS_THREADS: -1 (expected: 0 for one per");
        assertThat(run.exitCode()).isEqualTo(2);
        run = CommandRun.of(input, Map.of(), Map.of("millrace.kernels.threads", "-1"), command);
        assertThat(run.errors()).startsWith("millrace: -Dmillrace.kernels.threads: -1 (expected: 0 for one per");
        assertThat(run.exitCode()).isEqualTo(2);
        run = CommandRun.of(input, Map.of("MILLRACE_KERNELS_PROVIDER", "abacus"), command, "--model", MINI);
        assertThat(run.errors())
                .isEqualTo("millrace: MILLRACE_KERNELS_PROVIDER: abacus (expected: " + PROVIDERS + ")\n");
        assertThat(run.exitCode()).isEqualTo(2);
    }

    /// Prefill and decode take a pool each; one alone would fit.
    @ParameterizedTest
    @ValueSource(strings = {"up", "demo", "chat", "generate"})
    void poolsThatDoNotFitTogetherAreRefusedBeforeTheStart(String command) {
        assumeThat(MemoryLimits.ofThisProcess()).isPresent();
        MemoryLimits limits = MemoryLimits.ofThisProcess().orElseThrow();
        KvLayout layout = KvLayout.of(ModelConfig.read(Path.of(MINI)), KvFormat.BF16);
        long pages = (limits.limitBytes() + limits.swapBytes()) * 3 / 4 / layout.pageBytes();
        long tokens = pages * KvLayout.PAGE_TOKENS;
        String key = "--millrace.kv.pool-tokens";
        CommandRun run = CommandRun.of("Hi", command, "--model", MINI, key + "=" + tokens);
        assertThat(run.errors().lines().filter(line -> !line.contains("starting the suite")))
                .singleElement()
                .asString()
                .startsWith("millrace: " + key + ": " + tokens
                        + " tokens make a KV pool each for prefill and decode, together of ")
                .endsWith(" allows)");
        assertThat(run.exitCode()).isEqualTo(1);
        assertThat(run.answers()).isEmpty();
    }

    /// The file itself, or one above the folder.
    @ParameterizedTest
    @CsvSource({"'', ''", "/packs/of/mini, ' (%s)'"})
    void aFileInPlaceOfTheFolderOfPacksIsOneSentence(String below, String where) throws IOException {
        Path file = Files.writeString(folder.resolve("file"), "");
        CommandRun run = CommandRun.of("Hi", "generate", "--model", MINI, "--pack-dir", file + below);
        assertThat(run.errors().lines().filter(line -> !line.contains("starting the suite")))
                .containsExactly("millrace: --pack-dir: " + file + below + ": not a folder" + where.formatted(file)
                        + " (expected: a folder that can be written and has room, or off)");
        assertThat(run.exitCode()).isEqualTo(1);
        assertThat(run.answers()).isEmpty();
    }

    @Test
    void helpOfWhatStartsTheServicesTellsOfKeys() {
        for (String command : STARTING) {
            assertThat(String.join("\n", CommandRun.of("", command, "--help").answers()))
                    .contains("--millrace.SECTION.KEY=VALUE");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"--provider=auto", "--isa=auto", "--millrace.kernels.threads=1"})
    void aRunningSuiteHasItsOwnSettings(String setting) {
        refused(
                "--url and " + setting.replaceFirst("=.*", "") + " exclude each other",
                "generate",
                "--url",
                "http://127.0.0.1:1",
                setting,
                "Hi");
    }

    private static void refused(String said, String... args) {
        CommandRun run = CommandRun.of("Hi", args);
        assertThat(run.errors()).as(String.join(" ", args)).startsWith("millrace: " + said);
        assertThat(run.errors()).as(String.join(" ", args)).hasLineCount(1);
        assertThat(run.exitCode()).as(String.join(" ", args)).isEqualTo(2);
        assertThat(run.answers()).isEmpty();
    }
}
