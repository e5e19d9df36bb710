package io.headway.workloads;

/** The command line asked for something that does not exist. Its message is shown, exit code 2. */
public final class UsageException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** With one sentence that says what was wrong with which value. */
    public UsageException(String message) {
        super(message);
    }
}
