package org.cloze;

/** A token for a blank. */
public final class Fill {
    /** The token as it reads on its own. */
    public final String token;

    /** Its number in the vocabulary. */
    public final int id;

    /** Its probability. */
    public final float score;

    /** The raw number. */
    public final float logit;

    /** The whole text with the token in its blank; empty unless it was asked for. */
    public final String text;

    Fill(String token, int id, float score, float logit, String text) {
        this.token = token;
        this.id = id;
        this.score = score;
        this.logit = logit;
        this.text = text;
    }

    @Override
    public String toString() {
        return "Fill[token=" + token + ", id=" + id + ", score=" + score + ", logit=" + logit + ", text=" + text + "]";
    }
}
