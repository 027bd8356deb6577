package org.cloze;

/** A part of a context that answers a question. */
public final class Answer {
    /** The answer as it stands in the context. */
    public final String text;

    /** Where it starts. */
    public final int start;

    /** Where it ends: the place behind it. */
    public final int end;

    /** The probability that it starts there times the probability that it ends there. */
    public final float score;

    /** The sum of the two raw numbers. */
    public final float logit;

    Answer(String text, int start, int end, float score, float logit) {
        this.text = text;
        this.start = start;
        this.end = end;
        this.score = score;
        this.logit = logit;
    }

    @Override
    public String toString() {
        return "Answer[text=" + text + ", start=" + start + ", end=" + end + ", score=" + score + ", logit=" + logit + "]";
    }
}
