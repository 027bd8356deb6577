package org.cloze;

import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;

/**
 * Something of the library that is freed once: when it was closed, or its owner is garbage, and no call uses it. Closing may race with calls of any number of
 * threads.
 */
final class Handle implements Runnable {
    private static final Cleaner NET = Cleaner.create();
    private static final long CLOSED = Long.MIN_VALUE;

    private final long address;
    private final LongConsumer free;
    private final String noun;
    /** The calls that use it; {@link #CLOSED} is added when it is closed. */
    private final AtomicLong users = new AtomicLong();

    /** A handle that is closed when {@code owner} is garbage, should nobody have closed it before. */
    Handle(Object owner, long address, LongConsumer free, String noun) {
        this.address = address;
        this.free = free;
        this.noun = noun;
        NET.register(owner, this);
    }

    /** The address, which is valid until {@link #leave}. */
    long enter() {
        for (;;) {
            long now = users.get();
            if (now < 0) {
                throw new IllegalStateException("the " + noun + " is closed");
            }
            if (users.compareAndSet(now, now + 1)) {
                return address;
            }
        }
    }

    void leave() {
        if (users.decrementAndGet() == CLOSED) {
            free.accept(address);
        }
    }

    boolean isClosed() {
        return users.get() < 0;
    }

    /** Closes it; the last call that uses it frees it, or this one does. */
    void close() {
        for (;;) {
            long now = users.get();
            if (now < 0) {
                return;
            }
            if (users.compareAndSet(now, now + CLOSED)) {
                if (now == 0) {
                    free.accept(address);
                }
                return;
            }
        }
    }

    /** What the net does. */
    @Override
    public void run() {
        close();
    }
}
