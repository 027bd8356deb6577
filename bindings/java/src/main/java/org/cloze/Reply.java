package org.cloze;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;

/** What the shim answers, as call.h lays it out. */
final class Reply {
    private final ByteBuffer bytes;

    private Reply(byte[] bytes) {
        this.bytes = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
    }

    /** Reads the body, or throws what the status says; a call that was stopped has both. */
    static <T> T read(byte[] answer, Function<Reply, T> body) {
        Reply reply = new Reply(answer);
        int status = reply.size();
        String message = status == 0 ? null : reply.string();
        T result = reply.truth() ? body.apply(reply) : null;
        if (status != 0) {
            throw new ClozeException(status, message, result);
        }
        return result;
    }

    boolean truth() {
        return bytes.get() != 0;
    }

    int size() {
        return bytes.getInt();
    }

    int id() {
        return bytes.getInt();
    }

    long number() {
        return bytes.getLong();
    }

    float value() {
        return bytes.getFloat();
    }

    float[] values(int count) {
        float[] values = new float[count];
        bytes.asFloatBuffer().get(values);
        bytes.position(bytes.position() + count * Float.BYTES);
        return values;
    }

    String string() {
        int length = size();
        String string = new String(bytes.array(), bytes.position(), length, StandardCharsets.UTF_8);
        bytes.position(bytes.position() + length);
        return string;
    }

    /** Bytes that stay where they are. */
    ByteBuffer slice() {
        int length = size();
        ByteBuffer slice = bytes.slice().order(ByteOrder.nativeOrder());
        slice.limit(length);
        bytes.position(bytes.position() + length);
        return slice;
    }

    <T> List<T> list(int count, Supplier<T> item) {
        List<T> list = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            list.add(item.get());
        }
        return list;
    }

    /** A list that says its length. */
    <T> List<T> list(Supplier<T> item) {
        return list(size(), item);
    }

    Input input() {
        return new Input(size(), size(), truth(), size());
    }

    /** The answers of a task: an item for each input that is finished. */
    <T> Results<T> results(Supplier<T> item) {
        int finished = size();
        List<Input> inputs = list(this::input);
        return new Results<>(list(finished, item), finished, inputs);
    }
}
