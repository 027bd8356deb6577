package org.cloze;

/** A sparse weight of a text. */
public final class Weight {
    /** The token's number in the vocabulary. */
    public final int id;

    /** How much the text is about it. */
    public final float weight;

    /** The token as the vocabulary spells it. */
    public final String token;

    Weight(int id, float weight, String token) {
        this.id = id;
        this.weight = weight;
        this.token = token;
    }

    @Override
    public String toString() {
        return "Weight[id=" + id + ", weight=" + weight + ", token=" + token + "]";
    }
}
