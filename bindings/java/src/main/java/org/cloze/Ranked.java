package org.cloze;

/** A document at its rank. */
public final class Ranked {
    /** Its number among the documents that were given. */
    public final int document;

    /** The raw number put through the activation. */
    public final float score;

    /** The raw number. */
    public final float logit;

    Ranked(int document, float score, float logit) {
        this.document = document;
        this.score = score;
        this.logit = logit;
    }

    @Override
    public String toString() {
        return "Ranked[document=" + document + ", score=" + score + ", logit=" + logit + "]";
    }
}
