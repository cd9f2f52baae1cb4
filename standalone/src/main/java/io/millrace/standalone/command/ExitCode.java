package io.millrace.standalone.command;

/// How the process ends.
public final class ExitCode {
    /// Done. A line of input that could not be answered is not a failure: its answer says why.
    public static final int OK = 0;
    /// Something is wrong with the model, the machine or the surroundings; a sentence says what.
    public static final int FAILED = 1;
    /// The command line cannot be understood.
    public static final int USAGE = 2;

    /// Nobody reads the answers any more (`| head -1`): as if SIGPIPE had ended the process.
    public static final int READER_GONE = 141;

    private ExitCode() {}
}
