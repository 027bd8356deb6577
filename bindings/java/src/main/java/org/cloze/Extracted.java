package org.cloze;

import java.util.List;

/** The answers of a context, and how probable it is that it has none. */
public final class Extracted {
    /** The answers, the best first. */
    public final List<Answer> answers;

    /** The probability that there is none. */
    public final float noAnswerScore;

    /** The sum of the two raw numbers of no answer. */
    public final float noAnswerLogit;

    Extracted(List<Answer> answers, float noAnswerScore, float noAnswerLogit) {
        this.answers = answers;
        this.noAnswerScore = noAnswerScore;
        this.noAnswerLogit = noAnswerLogit;
    }

    @Override
    public String toString() {
        return "Extracted[answers=" + answers + ", noAnswerScore=" + noAnswerScore + ", noAnswerLogit=" + noAnswerLogit + "]";
    }
}
