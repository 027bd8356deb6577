package org.cloze;

/** A token of a text. */
public final class Token {
    /** The token as the vocabulary spells it. */
    public final String text;

    /** Its number in the vocabulary. */
    public final int id;

    /** The segment: 0 for the text, 1 for its pair. */
    public final int typeId;

    /** Whether the template added it. */
    public final boolean special;

    /** Where it starts in its own text. */
    public final int start;

    /** Where it ends: the place behind it. */
    public final int end;

    Token(String text, int id, int typeId, boolean special, int start, int end) {
        this.text = text;
        this.id = id;
        this.typeId = typeId;
        this.special = special;
        this.start = start;
        this.end = end;
    }

    @Override
    public String toString() {
        return "Token[text=" + text + ", id=" + id + ", typeId=" + typeId + ", special=" + special + ", start=" + start + ", end=" + end + "]";
    }
}
