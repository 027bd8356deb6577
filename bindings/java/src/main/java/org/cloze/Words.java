package org.cloze;

import java.util.Arrays;

/** Settings as the library takes them: keys and values, each UTF-8 with a NUL at its end. Never changed. */
final class Words {
    static final Words NONE = new Words(new Object[0]);

    private final Object[] pairs;

    private Words(Object[] pairs) {
        this.pairs = pairs;
    }

    /** These and one more, which counts if there is an earlier one of the same key. */
    Words with(String key, Object value) {
        Object[] more = Arrays.copyOf(pairs, pairs.length + 2);
        more[pairs.length] = word(key, "a setting");
        more[pairs.length + 1] = word(String.valueOf(value), key);
        return new Words(more);
    }

    Object[] pairs() {
        return pairs;
    }

    /** One word. C ends it at a NUL, so there is none inside. */
    static byte[] word(String text, String what) {
        if (text.indexOf('\0') >= 0) {
            throw ClozeException.invalid(what + " must not have a NUL inside: " + text.replace("\0", "\\0"));
        }
        byte[] bytes = Texts.utf8(text);
        return Arrays.copyOf(bytes, bytes.length + 1);
    }
}
