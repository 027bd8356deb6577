package org.cloze;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;

/**
 * A list of texts for a call. Strings are turned into UTF-8 once; what is UTF-8 already, in direct buffers, is read where it lies, without a copy.
 */
public final class Texts {
    private final Object[] texts;

    private Texts(Object[] texts) {
        this.texts = texts;
    }

    /** These texts; of pairs, null where a text has none. */
    public static Texts of(Collection<? extends CharSequence> texts) {
        return new Texts(texts.stream().map(text -> text == null ? null : utf8(text)).toArray());
    }

    /** These texts. */
    public static Texts of(CharSequence... texts) {
        return of(java.util.Arrays.asList(texts));
    }

    /** Texts that are UTF-8 already. The arrays must not change during a call. */
    public static Texts utf8(byte[]... texts) {
        return new Texts(texts.clone());
    }

    /** Texts that are UTF-8 already, each from its buffer's position to its limit; they must be direct, and must not change during a call. */
    public static Texts utf8(ByteBuffer... texts) {
        Object[] slices = new Object[texts.length];
        for (int i = 0; i < texts.length; i++) {
            if (!texts[i].isDirect()) {
                throw new IllegalArgumentException("texts[" + i + "] is no direct buffer: give its bytes");
            }
            slices[i] = texts[i].slice();
        }
        return new Texts(slices);
    }

    /** The number of texts. */
    public int size() {
        return texts.length;
    }

    /** The texts, none of which may be null. */
    Object[] array() {
        for (int i = 0; i < texts.length; i++) {
            if (texts[i] == null) {
                throw new NullPointerException("text " + i + " is null");
            }
        }
        return texts;
    }

    /** Second texts of pairs, some of which may be null. */
    Object[] pairs() {
        return texts;
    }

    /** About as many tokens as the texts have, seldom fewer, where each has at most {@code most}. */
    long tokens(long most) {
        long sum = 0;
        for (Object text : array()) {
            long bytes = text instanceof byte[] ? ((byte[]) text).length : ((ByteBuffer) text).capacity();
            sum += Math.min(bytes + 64, most);
        }
        return sum;
    }

    /** UTF-8 of a text. Half of a surrogate pair has none, and Java would write a question mark: what stands for it here, the library refuses by its place. */
    static byte[] utf8(CharSequence text) {
        String string = text.toString();
        for (int at = 0; at < string.length(); at++) {
            if (Character.isSurrogate(string.charAt(at))) {
                int point = string.codePointAt(at);
                if (Character.charCount(point) == 1) {
                    return withHalves(string);
                }
                at++;
            }
        }
        return string.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] withHalves(String string) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        string.codePoints().forEach(point -> {
            byte[] each = point >= Character.MIN_SURROGATE && point <= Character.MAX_SURROGATE
                    ? new byte[] {(byte) 0xed, (byte) (0x80 | point >> 6 & 0x3f), (byte) (0x80 | point & 0x3f)}
                    : new String(Character.toChars(point)).getBytes(StandardCharsets.UTF_8);
            bytes.write(each, 0, each.length);
        });
        return bytes.toByteArray();
    }
}
