package org.cloze;

import java.util.List;

/** A blank of a text, and what may fill it. */
public final class Blank {
    /** Where it starts. */
    public final int start;

    /** Where it ends: the place behind it. */
    public final int end;

    /** Tokens, the best first. */
    public final List<Fill> fills;

    Blank(int start, int end, List<Fill> fills) {
        this.start = start;
        this.end = end;
        this.fills = fills;
    }

    @Override
    public String toString() {
        return "Blank[start=" + start + ", end=" + end + ", fills=" + fills + "]";
    }
}
