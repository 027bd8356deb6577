package org.cloze;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Is it at home in Java: buffers without copies, threads, closing, deadlines, UTF-16? */
class ModelTest {
    private static final List<String> TEXTS =
            List.of("The quick brown fox", "", "今天天气很好", "I ❤️ search 🔍 and 👩‍💻!", "a much longer text than the others ".repeat(3));
    private static final Model TINY = Golden.model("models/tiny-gelu");

    @Test
    void versionsAreTheProjects() {
        String manifest = Golden.read(Golden.ROOT.resolve("Cargo.toml"));
        assertTrue(manifest.contains("\nversion = \"" + Model.version() + "\"\n"));
        assertTrue(Golden.read(Golden.ROOT.resolve("bindings/java/pom.xml")).contains("<version>" + Model.version() + "</version>"));
    }

    @Test
    void vectorsAreWrittenToDirectBuffers() {
        ByteBuffer out = ByteBuffer.allocateDirect(8 * 48 * 4 + 12).order(ByteOrder.nativeOrder());
        out.position(12);
        Vectors found = TINY.encode(Texts.of(TEXTS), Request.DEFAULT, out);
        float[][] wanted = TINY.encode(TEXTS);
        for (int text = 0; text < TEXTS.size(); text++) {
            assertArrayEquals(wanted[text], found.row(text));
            assertEquals(wanted[text][5], out.getFloat(12 + 4 * (48 * text + 5)));
        }
        assertEquals(0, out.getFloat(12 + 4 * 48 * TEXTS.size()));
        out.position(out.limit() - 4 * 48);
        ClozeException small = assertThrows(ClozeException.class, () -> TINY.encode(Texts.of(TEXTS), Request.DEFAULT, out));
        assertEquals("CLOZE_BUFFER_TOO_SMALL", small.name());
        ByteBuffer heap = ByteBuffer.allocate(4000);
        assertThrows(IllegalArgumentException.class, () -> TINY.encode(Texts.of(TEXTS), Request.DEFAULT, heap));
    }

    @Test
    void textsMayLieInDirectBuffers() {
        byte[][] bytes = TEXTS.stream().map(text -> text.getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
        ByteBuffer[] direct = new ByteBuffer[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            direct[i] = ByteBuffer.allocateDirect(bytes[i].length + 2);
            direct[i].put((byte) 'x').put(bytes[i]).put((byte) 'x');
            direct[i].position(1).limit(1 + bytes[i].length);
        }
        assertArrayEquals(TINY.encode(TEXTS), TINY.encode(Texts.utf8(direct), Request.DEFAULT).toArray());
        assertArrayEquals(TINY.encode(TEXTS), TINY.encode(Texts.utf8(bytes), Request.DEFAULT).toArray());
    }

    @Test
    void roomForVectorsOfTokensIsFound() {
        // U+FDFA becomes eighteen characters: more tokens than bytes.
        Request tokens = Request.of("vectors", "token");
        Request windows = tokens.with("truncation", "window").with("max_tokens", 8).with("overlap", 4);
        for (Request request : List.of(tokens, windows)) {
            Vectors found = TINY.encode(Texts.of("\ufdfa".repeat(300), "a b c"), request);
            for (int text = 0; text < 2; text++) {
                assertEquals(found.inputs().get(text).tokens, found.firstRow(text + 1) - found.firstRow(text));
            }
        }
    }

    @Test
    void offsetsArePlacesInAString() {
        String text = "🔍 fox";
        Token last = TINY.tokenize(text, null, Request.DEFAULT).windows.get(0).stream().filter(token -> token.end == text.length()).findAny().orElseThrow();
        assertTrue("fox".endsWith(text.substring(last.start, last.end)));
        assertEquals(6, text.length());
    }

    @Test
    void halfOfASurrogatePairIsNamedByItsPlace() {
        ClozeException failure = assertThrows(ClozeException.class, () -> TINY.encode(List.of("fine", "ab\ud800c")));
        assertEquals("CLOZE_INVALID_UTF8", failure.name());
        assertEquals(3, failure.status());
        assertTrue(failure.getMessage().contains("texts[1]") && failure.getMessage().contains("byte 2"), failure.getMessage());
    }

    @Test
    void aTextThatIsNullIsNamed() {
        NullPointerException failure = assertThrows(NullPointerException.class, () -> TINY.encode(java.util.Arrays.asList("a", null)));
        assertEquals("text 1 is null", failure.getMessage());
    }

    @Test
    void memorySaysWhatTheHeaderLists() {
        String header = Golden.read(Golden.ROOT.resolve("include/cloze.h"));
        String comment = header.substring(0, header.indexOf("cloze_status cloze_memory_statistics"));
        List<String> keys = new ArrayList<>();
        comment.substring(comment.lastIndexOf("/**")).lines().filter(line -> line.startsWith(" * - `")).forEach(line -> keys.add(line.split("`")[1]));
        assertEquals(keys, new ArrayList<>(TINY.memory().keySet()));
        assertTrue(TINY.memoryPeak(8, 4) > 0);
        assertThrows(ClozeException.class, () -> TINY.memoryPeak(-1, 1));
        assertEquals(7, TINY.dimensions(Request.of("dimensions", 7)));
        try (Model model = Golden.model("models/tiny-gelu")) {
            model.encode(TEXTS);
            model.memoryTrim();
            assertEquals(0, model.memory().get("workspaces"));
        }
    }

    @Test
    void aFileVerifiesItself() throws Exception {
        String sound = System.getenv("CLOZE_SOUND");
        assumeTrue(sound != null, "CLOZE_SOUND names no file with probes");
        try (Model file = Model.open(Path.of(sound))) {
            assertTrue(file.verify().startsWith("{\"passed\":true"), file.verify());
        }
        byte[] bytes = Files.readAllBytes(Path.of(sound));
        bytes[bytes.length - 3000] ^= 0x55;
        try (Model damaged = Model.open(Map.of("damaged.gguf", bytes), Options.DEFAULT)) {
            ClozeException failure = assertThrows(ClozeException.class, damaged::verify);
            assertEquals("CLOZE_VERIFICATION_FAILED", failure.name());
            assertTrue(failure.partial(String.class).startsWith("{\"passed\":false"), failure.partial(String.class));
        }
    }

    @Test
    void optionsReachTheModel() {
        try (Model memory = Model.open(Golden.files(Golden.GOLDEN.resolve("models/tiny-gelu")), Options.of("threads", 1))) {
            assertTrue(memory.describe().contains("\"threads\":1"));
        }
    }

    @Test
    void deadlinesAndCancellationsGiveWhatIsFinished() throws Exception {
        Texts many = Texts.of(Collections.nCopies(400_000, "some words that take their time"));
        ClozeException late = assertThrows(ClozeException.class, () -> TINY.encode(many, Request.DEFAULT.deadline(Duration.ofMillis(300))));
        assertEquals("CLOZE_DEADLINE_EXCEEDED", late.name());
        try (Cancel cancel = new Cancel()) {
            Thread stop = new Thread(() -> {
                sleep(300);
                cancel.cancel();
            });
            stop.start();
            ClozeException stopped = assertThrows(ClozeException.class, () -> TINY.encode(many, Request.DEFAULT.cancel(cancel)));
            stop.join();
            assertEquals("CLOZE_CANCELLED", stopped.name());
            for (ClozeException failure : List.of(late, stopped)) {
                Vectors partial = failure.partial(Vectors.class);
                assertTrue(partial.finished() < many.size() && partial.rows() == partial.finished());
                assertEquals(many.size(), partial.inputs().size());
            }
            assertArrayEquals(TINY.encode("some words that take their time"), late.partial(Vectors.class).row(0));
            cancel.reset();
            assertEquals(1, TINY.encode(Texts.of("a"), Request.DEFAULT.cancel(cancel)).rows());
        }
        assertThrows(ClozeException.class, () -> Request.DEFAULT.deadline(Duration.ofMillis(-1)));
    }

    @Test
    void thirtyTwoThreadsShareAModel() throws Exception {
        float[][] wanted = TINY.encode(TEXTS);
        together(32, number -> {
            Request request = Request.of("threads", 1 + number % 2);
            for (int i = 0; i < 50; i++) {
                assertArrayEquals(wanted, TINY.encode(Texts.of(TEXTS), request).toArray());
                ClozeException mine = assertThrows(ClozeException.class, () -> TINY.encode(Texts.of("a"), Request.of("pooling", "of-" + number)));
                assertTrue(mine.getMessage().contains("of-" + number));
            }
        });
    }

    @Test
    void closingMayRaceWithCallsOfThirtyTwoThreads() throws Exception {
        float[][] wanted = TINY.encode(TEXTS);
        for (int round = 0; round < 20; round++) {
            Model model = Golden.model("models/tiny-gelu");
            Cancel cancel = new Cancel();
            AtomicInteger answered = new AtomicInteger();
            CountDownLatch begun = new CountDownLatch(8);
            together(32, number -> {
                if (number == 31) {
                    begun.await();
                    model.close();
                    model.close();
                    cancel.close();
                    return;
                }
                try {
                    for (;;) {
                        assertArrayEquals(wanted, model.encode(Texts.of(TEXTS), Request.DEFAULT.cancel(cancel)).toArray());
                        answered.incrementAndGet();
                        begun.countDown();
                    }
                } catch (IllegalStateException closed) {
                    assertTrue(closed.getMessage().endsWith("is closed"));
                }
            });
            assertTrue(model.isClosed() && answered.get() >= 8);
            assertThrows(IllegalStateException.class, model::describe);
        }
    }

    @Test
    void theNetFreesWhatNobodyClosed() {
        Handle model = Model.open(Golden.files(Golden.GOLDEN.resolve("models/tiny-gelu")), Options.DEFAULT).handle();
        Handle cancel = new Cancel().handle();
        for (int i = 0; i < 200 && !(model.isClosed() && cancel.isClosed()); i++) {
            System.gc();
            sleep(20);
        }
        assertTrue(model.isClosed() && cancel.isClosed());
    }

    private interface Work {
        void run(int number) throws Exception;
    }

    private static void together(int threads, Work work) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Future<?>> done = new ArrayList<>();
            for (int number = 0; number < threads; number++) {
                int mine = number;
                done.add(pool.submit(() -> {
                    work.run(mine);
                    return null;
                }));
            }
            for (Future<?> each : done) {
                each.get();
            }
        } finally {
            pool.shutdownNow();
        }
    }

    private static void sleep(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException why) {
            throw new AssertionError(why);
        }
    }
}
