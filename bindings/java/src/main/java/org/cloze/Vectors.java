package org.cloze;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Collections;
import java.util.List;

/**
 * Vectors of texts, one after another, and what became of each text. They lie in {@link #bytes()} as the request's {@code output} says (cloze_encode in
 * cloze.h); {@link #row} makes numbers of them.
 */
public final class Vectors {
    private final ByteBuffer bytes;
    private final String output;
    private final int dimensions;
    private final int finished;
    private final List<Input> inputs;
    private final int[] first;
    private final float[] scales;

    /** Reads a reply; {@code out} is the caller's buffer, or null where the vectors are in the reply. */
    Vectors(Reply reply, String output, ByteBuffer out) {
        this.output = output;
        dimensions = reply.size();
        finished = reply.size();
        int count = reply.size();
        Input[] read = new Input[count];
        first = new int[count + 1];
        for (int text = 0; text < count; text++) {
            read[text] = reply.input();
            first[text + 1] = first[text] + reply.size();
        }
        inputs = Collections.unmodifiableList(java.util.Arrays.asList(read));
        scales = reply.values(reply.size());
        ByteBuffer inside = reply.slice();
        bytes = out == null ? inside : out.slice().order(ByteOrder.nativeOrder());
        bytes.limit(rows() * rowBytes());
    }

    /** Values of a vector. */
    public int dimensions() {
        return dimensions;
    }

    /** The number of vectors: of texts that are finished, or of their tokens. */
    public int rows() {
        return first[first.length - 1];
    }

    /** How many texts are finished, counted from the first: all, unless a deadline or a cancellation stopped the call. */
    public int finished() {
        return finished;
    }

    /** What became of each text. */
    public List<Input> inputs() {
        return inputs;
    }

    /** The number of a text's first vector; its vectors end where those of the next text begin. */
    public int firstRow(int text) {
        return first[text];
    }

    /** The bytes of all vectors, in the machine's byte order. */
    public ByteBuffer bytes() {
        return bytes.asReadOnlyBuffer().order(ByteOrder.nativeOrder());
    }

    /** The bytes of a vector. */
    public int rowBytes() {
        switch (output) {
            case "f16":
                return 2 * dimensions;
            case "int8":
                return dimensions;
            case "binary":
                return (dimensions + 7) / 8;
            default:
                return 4 * dimensions;
        }
    }

    /** Of {@code int8}: value times scale is the original, rounded. */
    public float scale(int row) {
        return scales[row];
    }

    /** The numbers of a vector; of {@code int8} times their scale, of {@code binary} 1 for a bit that is set and 0 for one that is not. */
    public float[] row(int row) {
        float[] values = new float[dimensions];
        int at = java.util.Objects.checkIndex(row, rows()) * rowBytes();
        if (output.equals("f32")) {
            ByteBuffer place = bytes.duplicate().order(ByteOrder.nativeOrder());
            place.position(at);
            place.asFloatBuffer().get(values);
            return values;
        }
        for (int i = 0; i < dimensions; i++) {
            switch (output) {
                case "f16":
                    values[i] = half(bytes.getShort(at + 2 * i));
                    break;
                case "int8":
                    values[i] = bytes.get(at + i) * scales[row];
                    break;
                default:
                    values[i] = bytes.get(at + i / 8) >> 7 - i % 8 & 1;
            }
        }
        return values;
    }

    /** The numbers of all vectors. */
    public float[][] toArray() {
        float[][] rows = new float[rows()][];
        for (int row = 0; row < rows.length; row++) {
            rows[row] = row(row);
        }
        return rows;
    }

    /** IEEE binary16, which Java 11 does not know. */
    private static float half(short bits) {
        int exponent = bits >> 10 & 0x1f;
        int fraction = bits & 0x3ff;
        float size;
        if (exponent == 0x1f) {
            size = fraction == 0 ? Float.POSITIVE_INFINITY : Float.NaN;
        } else if (exponent == 0) {
            size = Math.scalb((float) fraction, -24);
        } else {
            size = Math.scalb(1 + fraction / 1024f, exponent - 15);
        }
        return bits < 0 ? -size : size;
    }
}
