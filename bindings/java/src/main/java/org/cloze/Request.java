package org.cloze;

import java.time.Duration;

/**
 * What a call is asked for: words of the command line and the C API ({@code pooling}, {@code truncation}, {@code top} ...), passed through as they are, so that
 * what a later library knows needs nothing here. The README of the project and {@code cloze_request_set} in cloze.h list them. Never changed, so that any
 * number of threads may use one: {@code Request.of("pooling", "cls").with("normalize", true).deadline(Duration.ofMillis(20))}.
 *
 * <p>Offsets are places in a {@link String} (UTF-16 units) unless {@code offsets} says otherwise.
 */
public final class Request {
    /** What the model's own files say. */
    public static final Request DEFAULT = new Request(Words.NONE.with("offsets", "utf16"), null, "f32", false, false);

    private final Words words;
    private final Cancel cancel;
    /** What decides how vectors are laid out. */
    private final String output;
    private final boolean ofTokens;
    private final boolean inWindows;

    private Request(Words words, Cancel cancel, String output, boolean ofTokens, boolean inWindows) {
        this.words = words;
        this.cancel = cancel;
        this.output = output;
        this.ofTokens = ofTokens;
        this.inWindows = inWindows;
    }

    /** One setting. */
    public static Request of(String key, Object value) {
        return DEFAULT.with(key, value);
    }

    /** These settings and one more: a word, a number, or true or false. */
    public Request with(String key, Object value) {
        String word = String.valueOf(value);
        String type = key.equals("output") ? word : output;
        boolean tokens = key.equals("vectors") ? word.equals("token") : ofTokens;
        boolean windows = key.equals("truncation") ? word.equals("window") : inWindows;
        return new Request(words.with(key, value), cancel, type, tokens, windows);
    }

    /** Stops a call that takes longer, in whole milliseconds from its beginning. */
    public Request deadline(Duration time) {
        if (time.isNegative()) {
            throw ClozeException.invalid("a deadline must not be negative: " + time);
        }
        return with("deadline_ms", time.toMillis());
    }

    /** Lets a flag stop the calls. */
    public Request cancel(Cancel flag) {
        return new Request(words, flag, output, ofTokens, inWindows);
    }

    Object[] words() {
        return words.pairs();
    }

    Cancel cancel() {
        return cancel;
    }

    String output() {
        return output;
    }

    boolean ofTokens() {
        return ofTokens;
    }

    boolean inWindows() {
        return inWindows;
    }
}
