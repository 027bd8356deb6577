package org.cloze;

import java.util.List;

/** What the encoder sees of a text. */
public final class Tokens {
    /** Tokens of the whole text, special tokens included, before anything was cut. */
    public final int total;

    /** Whether tokens were left out. */
    public final boolean truncated;

    /** One window, or several where {@code truncation} is {@code window} and the text is long. */
    public final List<List<Token>> windows;

    Tokens(int total, boolean truncated, List<List<Token>> windows) {
        this.total = total;
        this.truncated = truncated;
        this.windows = windows;
    }

    @Override
    public String toString() {
        return "Tokens[total=" + total + ", truncated=" + truncated + ", windows=" + windows + "]";
    }
}
