package org.cloze;

/** What became of an input. */
public final class Input {
    /** Tokens that the encoder saw, special tokens included; for windows, those of all windows. */
    public final int tokens;

    /** Tokens of the whole input, before anything was cut. */
    public final int total;

    /** Whether tokens were left out. */
    public final boolean truncated;

    /** 1 where the input fits or was cut; 0 for one that was not finished. */
    public final int windows;

    Input(int tokens, int total, boolean truncated, int windows) {
        this.tokens = tokens;
        this.total = total;
        this.truncated = truncated;
        this.windows = windows;
    }

    @Override
    public String toString() {
        return "Input[tokens=" + tokens + ", total=" + total + ", truncated=" + truncated + ", windows=" + windows + "]";
    }
}
