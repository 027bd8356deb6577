package org.cloze;

/**
 * How a model is opened: words of the command line and the C API ({@code threads}, {@code precision}, {@code isa}), passed through as they are. Never changed:
 * {@code Options.of("threads", 2).with("precision", "int8")}.
 */
public final class Options {
    /** What the model's files say, and as many threads as this process may use. */
    public static final Options DEFAULT = new Options(Words.NONE);

    private final Words words;

    private Options(Words words) {
        this.words = words;
    }

    /** One option. */
    public static Options of(String key, Object value) {
        return DEFAULT.with(key, value);
    }

    /** These options and one more. */
    public Options with(String key, Object value) {
        return new Options(words.with(key, value));
    }

    Object[] words() {
        return words.pairs();
    }
}
