package io.millrace.standalone.command;

import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

/// What a command reads and writes; a test brings its own. Text is UTF-8 whatever the locale says.
///
/// @param out         answers; buffered, to be flushed; of the process's own an [AnswerOutput]
/// @param err         everything that is not an answer
/// @param properties  system properties
public record Console(
        InputStream in,
        PrintStream out,
        PrintStream err,
        Map<String, String> environment,
        Map<String, String> properties) {

    /// The process's own.
    public static Console ofProcess() {
        return new Console(
                new FileInputStream(FileDescriptor.in),
                AnswerOutput.to(new FileOutputStream(FileDescriptor.out)),
                new PrintStream(new FileOutputStream(FileDescriptor.err), true, StandardCharsets.UTF_8),
                System.getenv(),
                systemProperties());
    }

    private static Map<String, String> systemProperties() {
        Properties all = System.getProperties();
        Map<String, String> properties = new TreeMap<>();
        for (String name : all.stringPropertyNames()) {
            properties.put(name, all.getProperty(name));
        }
        return properties;
    }

    /// One line about what goes on, beside the answers.
    public void note(String text) {
        err.println("millrace: " + text);
    }
}
