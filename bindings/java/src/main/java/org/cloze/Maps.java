package org.cloze;

import java.util.List;

/** What the attention heads of a model look at for one text, or for a text and its pair, and the hidden states of every layer. */
public final class Maps {
    /** The tokens that rows and columns stand for. */
    public final List<Token> tokens;

    /** By layer, head, row and column: how much the row's token takes from the column's. */
    public final float[][][][] attention;

    /** By layer, token and value; layer 0 is before the first layer. */
    public final float[][][] states;

    Maps(Reply reply) {
        int layers = reply.size();
        int heads = reply.size();
        int count = reply.size();
        int hidden = reply.size();
        tokens = Model.window(reply);
        attention = new float[layers][heads][count][];
        for (float[][][] layer : attention) {
            for (float[][] head : layer) {
                fill(reply, head, count);
            }
        }
        states = new float[layers + 1][count][];
        for (float[][] state : states) {
            fill(reply, state, hidden);
        }
    }

    private static void fill(Reply reply, float[][] rows, int columns) {
        for (int row = 0; row < rows.length; row++) {
            rows[row] = reply.values(columns);
        }
    }
}
