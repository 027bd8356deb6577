package org.cloze;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The functions of the shim (src/main/native), and where its library comes from. Words end with a NUL; replies are read by {@link Reply}.
 *
 * <p>The library is the file that the system property {@code cloze.library} names. Otherwise it is taken out of the jar to a folder that only this user may
 * read or write, loaded, and removed at once, since a loaded file needs no name.
 */
final class Native {
    private static final String LIBRARY = "libclozejni.so";
    private static final int ABI_VERSION = 1;

    static {
        String named = System.getProperty("cloze.library");
        if (named != null) {
            System.load(Path.of(named).toAbsolutePath().toString());
        } else {
            loadFromJar();
        }
        if (abiVersion() != ABI_VERSION) {
            throw new UnsatisfiedLinkError("the library has version " + abiVersion() + " of the C ABI, these classes need " + ABI_VERSION);
        }
    }

    private Native() {}

    private static void loadFromJar() {
        String machine = System.getProperty("os.name").toLowerCase(java.util.Locale.ROOT) + "-" + System.getProperty("os.arch");
        String inside = "native/" + machine + "/" + LIBRARY;
        try (InputStream library = Native.class.getResourceAsStream(inside)) {
            if (library == null) {
                throw new UnsatisfiedLinkError("this jar has no library for " + machine + "; name one in the system property cloze.library");
            }
            Path folder = Files.createTempDirectory("cloze");
            Path file = folder.resolve(LIBRARY);
            try {
                Files.copy(library, file);
                System.load(file.toString());
            } catch (UnsatisfiedLinkError why) {
                String help = "; if " + folder.getParent() + " forbids execution, set java.io.tmpdir or cloze.library";
                throw (UnsatisfiedLinkError) new UnsatisfiedLinkError(why.getMessage() + help).initCause(why);
            } finally {
                Files.deleteIfExists(file);
                Files.deleteIfExists(folder);
            }
        } catch (IOException why) {
            throw new UncheckedIOException("the library cannot be taken out of the jar; set java.io.tmpdir or cloze.library", why);
        }
    }

    static String nameOf(int status) {
        return new String(statusName(status), StandardCharsets.UTF_8);
    }

    static native int abiVersion();

    static native byte[] version();

    static native byte[] statusName(int status);

    static native byte[] open(Object[] path, Object[] settings);

    static native byte[] openFiles(Object[] names, Object[] datas, Object[] settings);

    static native void free(long model);

    static native long cancelNew();

    static native void cancelSet(long cancel, boolean raised);

    static native void cancelFree(long cancel);

    static native byte[] describe(long model);

    static native byte[] verify(long model);

    static native byte[] dimensions(long model, Object[] settings);

    static native byte[] memory(long model, Object[] key);

    static native byte[] memoryPeak(long model, long tokens, long texts);

    static native byte[] memoryTrim(long model);

    static native byte[] encode(
            long model, Object[] settings, long cancel, Object[] texts, ByteBuffer out, long tokens, boolean scaled);

    static native byte[] encodeSparse(long model, Object[] settings, long cancel, Object[] texts);

    static native byte[] encodeLate(long model, Object[] settings, long cancel, Object[] texts);

    static native byte[] rerank(long model, Object[] settings, long cancel, Object[] query, Object[] documents);

    static native byte[] classify(long model, Object[] settings, long cancel, Object[] texts, Object[] pairs);

    static native byte[] classifyAs(long model, Object[] settings, long cancel, Object[] texts, Object[] labels);

    static native byte[] nextSentence(long model, Object[] settings, long cancel, Object[] texts, Object[] pairs);

    static native byte[] fillMask(long model, Object[] settings, long cancel, Object[] texts, Object[] candidates, boolean withText);

    static native byte[] extract(long model, Object[] settings, long cancel, Object[] question, Object[] contexts);

    static native byte[] tag(long model, Object[] settings, long cancel, Object[] texts);

    static native byte[] tagWords(long model, Object[] settings, long cancel, Object[] words, int[] counts);

    static native byte[] tokenize(long model, Object[] settings, Object[] texts);

    static native byte[] attention(long model, Object[] settings, long cancel, Object[] texts);
}
