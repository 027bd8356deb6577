package org.cloze;

/**
 * A flag that stops calls from another thread: give it to any number of requests by {@link Request#cancel}. A call that it stops throws a
 * {@link ClozeException} with what was finished.
 */
public final class Cancel implements AutoCloseable {
    private final Handle handle;

    /** A flag that is not raised. */
    public Cancel() {
        handle = new Handle(this, Native.cancelNew(), Native::cancelFree, "cancel flag");
    }

    /** Stops the calls that run with this flag, and those that begin. */
    public void cancel() {
        set(true);
    }

    /** Lowers the flag, so that it can serve the next calls. */
    public void reset() {
        set(false);
    }

    private void set(boolean raised) {
        long address = handle.enter();
        try {
            Native.cancelSet(address, raised);
        } finally {
            handle.leave();
        }
    }

    Handle handle() {
        return handle;
    }

    /** Gives the flag back; calls that run with it go on. The garbage collector does it, too, later. */
    @Override
    public void close() {
        handle.close();
    }
}
