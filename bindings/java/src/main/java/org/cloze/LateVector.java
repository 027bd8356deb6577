package org.cloze;

/** The vector of a token, as a late-interaction model compares it. */
public final class LateVector {
    /** The token's number in the vocabulary. */
    public final int id;

    /** Where it starts in the text. */
    public final int start;

    /** Where it ends: the place behind it. */
    public final int end;

    /** The token as the vocabulary spells it. */
    public final String token;

    /** The vector. */
    public final float[] vector;

    LateVector(int id, int start, int end, String token, float[] vector) {
        this.id = id;
        this.start = start;
        this.end = end;
        this.token = token;
        this.vector = vector;
    }

    @Override
    public String toString() {
        return "LateVector[id=" + id + ", start=" + start + ", end=" + end + ", token=" + token + "]";
    }
}
