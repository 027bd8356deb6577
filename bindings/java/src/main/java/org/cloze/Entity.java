package org.cloze;

/** An entity of a text. */
public final class Entity {
    /** Its label. */
    public final String label;

    /** The entity as it stands in the text. */
    public final String text;

    /** Where it starts. */
    public final int start;

    /** Where it ends: the place behind it. */
    public final int end;

    /** The probability of its label. */
    public final float score;

    /** Of {@link Model#tagWords}: its first word. */
    public final int firstWord;

    /** Of {@link Model#tagWords}: the word behind its last. */
    public final int endWord;

    Entity(String label, String text, int start, int end, float score, int firstWord, int endWord) {
        this.label = label;
        this.text = text;
        this.start = start;
        this.end = end;
        this.score = score;
        this.firstWord = firstWord;
        this.endWord = endWord;
    }

    @Override
    public String toString() {
        return "Entity[label=" + label + ", text=" + text + ", start=" + start + ", end=" + end + ", score=" + score + ", firstWord=" + firstWord + ", endWord=" + endWord + "]";
    }
}
