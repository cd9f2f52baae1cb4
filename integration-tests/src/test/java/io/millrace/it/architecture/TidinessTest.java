package io.millrace.it.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/// The limits of the house style that can be counted.
class TidinessTest {
    private static final int FILE_LINES = 500;
    private static final int LINE_LENGTH = 120;
    private static final Pattern BANNED_PACKAGE =
            Pattern.compile("/(util|utils|common|helper|helpers|misc|manager|impl|base)/");
    private static final Pattern BANNED_CLASS = Pattern.compile("(Utils?|Helper|Manager|Impl)\\.java$");
    private static final Pattern UNFINISHED =
            Pattern.compile("\\b(TO" + "DO|FIX" + "ME|XX" + "X)\\b|not " + "implemented");
    private static final Pattern SLEEPS = Pattern.compile("Thread" + "\\.sleep\\(");
    private static final Pattern MAP_OF_SEVERAL = Pattern.compile("(?<!TreeMap<>\\()Map\\.of\\([^,)]+,[^,)]+,");
    private static final Pattern CATCHES_ALL = Pattern.compile("catch \\((Exception|Throwable) ");

    @Test
    void noFileIsLongerThanTheLimit() throws IOException {
        List<String> found = new ArrayList<>();
        for (Path file : javaFiles()) {
            long lines = Files.readAllLines(file).size();
            if (lines > FILE_LINES) {
                found.add(file + ": " + lines + " lines");
            }
        }
        assertThat(found).as("files over " + FILE_LINES + " lines").isEmpty();
    }

    @Test
    void noLineIsLongerThanTheLimit() throws IOException {
        assertThat(linesWhere(line -> line.length() > LINE_LENGTH && !line.startsWith("import ")))
                .isEmpty();
    }

    @Test
    void packagesAndClassesAreNamedForWhatTheyAre() throws IOException {
        List<Path> banned = new ArrayList<>();
        for (Path file : javaFiles()) {
            String path = file.toString().replace('\\', '/');
            if (BANNED_PACKAGE.matcher(path).find()
                    || BANNED_CLASS.matcher(path).find()) {
                banned.add(file);
            }
        }
        assertThat(banned).isEmpty();
    }

    @Test
    void everyPackageSaysWhatItIsAndIsNullMarked() throws IOException {
        List<Path> missing = new ArrayList<>();
        for (Path file : javaFiles()) {
            Path info = file.resolveSibling("package-info.java");
            boolean mainCode = file.toString().replace('\\', '/').contains("/src/main/");
            if (mainCode && (!Files.exists(info) || !Files.readString(info).contains("@NullMarked"))) {
                missing.add(info);
            }
        }
        assertThat(missing).isEmpty();
    }

    @Test
    void nothingIsLeftUnfinished() throws IOException {
        assertThat(linesWhere(line -> UNFINISHED.matcher(line).find())).isEmpty();
    }

    @Test
    void testsDoNotSleep() throws IOException {
        assertThat(linesWhere(line -> SLEEPS.matcher(line).find())).isEmpty();
    }

    /// A call of C is the other place: the method handle's declaration leaves no choice.
    @Test
    void catchAllIsALoopGuardOrADowncallThatSaysSo() throws IOException {
        List<String> found = new ArrayList<>();
        for (Path file : javaFiles()) {
            List<String> lines = Files.readAllLines(file);
            for (int i = 0; i < lines.size(); i++) {
                boolean mainCode = file.toString().replace('\\', '/').contains("/src/main/");
                if (mainCode && CATCHES_ALL.matcher(lines.get(i)).find()) {
                    String around = String.join("\n", lines.subList(Math.max(0, i - 1), Math.min(lines.size(), i + 3)));
                    boolean downcall = file.endsWith("NativeLibrary.java") && around.contains("downcall: invokeExact");
                    if (!around.contains("loop guard") && !downcall) {
                        found.add(file + ":" + (i + 1) + " (expected: a comment `loop guard: …` beside it)");
                    }
                }
            }
        }
        assertThat(found).isEmpty();
    }

    /// `Map.of` orders its entries anew in each process.
    @Test
    void fieldsOfAnswersComeInOneOrder() throws IOException {
        List<String> found = new ArrayList<>();
        for (Path file : javaFiles()) {
            String text = Files.readString(file);
            if (file.toString().replace('\\', '/').contains("/gateway/src/main/")
                    && MAP_OF_SEVERAL.matcher(text).find()) {
                found.add(file.toString());
            }
        }
        assertThat(found).isEmpty();
    }

    private interface LineRule {
        boolean breaks(String line);
    }

    private static List<String> linesWhere(LineRule rule) throws IOException {
        List<String> found = new ArrayList<>();
        for (Path file : javaFiles()) {
            List<String> lines = Files.readAllLines(file);
            for (int i = 0; i < lines.size(); i++) {
                if (rule.breaks(lines.get(i))) {
                    found.add(file + ":" + (i + 1));
                }
            }
        }
        return found;
    }

    private static List<Path> javaFiles() throws IOException {
        Path root = Path.of(System.getProperty("millrace.root"));
        try (Stream<Path> files = Files.walk(root)) {
            return files.filter(file -> file.toString().endsWith(".java"))
                    .filter(file -> !root.relativize(file).toString().contains("target"))
                    .toList();
        }
    }
}
