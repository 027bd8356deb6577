package org.cloze;

/** How probably a text follows another. */
public final class Follow {
    /** The probability. */
    public final float score;

    /** The raw number for "it follows". */
    public final float logit;

    /** The raw number for "it was taken from elsewhere". */
    public final float otherLogit;

    Follow(float score, float logit, float otherLogit) {
        this.score = score;
        this.logit = logit;
        this.otherLogit = otherLogit;
    }

    @Override
    public String toString() {
        return "Follow[score=" + score + ", logit=" + logit + ", otherLogit=" + otherLogit + "]";
    }
}
