package org.cloze;

/** A label of an input. */
public final class Label {
    /** The label. */
    public final String name;

    /** Its number among the model's labels, or among those that were given. */
    public final int number;

    /** The raw number put through the activation. */
    public final float score;

    /** The raw number. */
    public final float logit;

    Label(String name, int number, float score, float logit) {
        this.name = name;
        this.number = number;
        this.score = score;
        this.logit = logit;
    }

    @Override
    public String toString() {
        return "Label[name=" + name + ", number=" + number + ", score=" + score + ", logit=" + logit + "]";
    }
}
