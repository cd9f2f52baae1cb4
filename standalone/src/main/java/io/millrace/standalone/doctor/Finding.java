package io.millrace.standalone.doctor;

/// What one check found.
///
/// @param subject   what was checked, one word
/// @param ok        whether it is as it should be
/// @param sentence  what it is, or what is wrong and what to do
public record Finding(String subject, boolean ok, String sentence) {
    static Finding ok(String subject, String sentence) {
        return new Finding(subject, true, sentence);
    }

    static Finding fail(String subject, String sentence) {
        return new Finding(subject, false, sentence);
    }

    /// `ok    port       8080 is free.`
    public String line() {
        return "%-5s %-10s %s".formatted(ok ? "ok" : "FAIL", subject, sentence);
    }
}
