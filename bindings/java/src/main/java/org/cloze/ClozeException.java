package org.cloze;

/**
 * A call that failed: a sentence that names the thing and says what to do, the status of the C API, whose number never changes its meaning, and its
 * name, such as {@code CLOZE_TOO_LONG}.
 *
 * <p>After {@code CLOZE_DEADLINE_EXCEEDED} and {@code CLOZE_CANCELLED} it has what the call would have returned, of the inputs that were finished by then.
 */
public final class ClozeException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** The status of what C cannot be told, since its words end at a NUL and its sizes have no sign. */
    private static final int INVALID_ARGUMENT = 2;

    private final int status;
    private final String name;
    private final transient Object partial;

    ClozeException(int status, String message, Object partial) {
        super(message);
        this.status = status;
        this.name = Native.nameOf(status);
        this.partial = partial;
    }

    static ClozeException invalid(String message) {
        return new ClozeException(INVALID_ARGUMENT, message, null);
    }

    /** The number of the status. */
    public int status() {
        return status;
    }

    /** The name of the status, as the C header spells it. */
    public String name() {
        return name;
    }

    /**
     * What was finished when a deadline or a cancellation stopped the call, or null.
     *
     * @param kind the class of what the call returns
     * @param <T> the same
     */
    public <T> T partial(Class<T> kind) {
        return kind.cast(partial);
    }
}
