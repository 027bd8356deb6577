package org.cloze;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/** A program of its own for what only a fresh JVM can tell; {@link GuestTest} runs it. */
final class Guest {
    private Guest() {}

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "signals":
                signals();
                break;
            case "cases":
                cases();
                break;
            case "memory":
                memory();
                break;
            default:
                throw new IllegalArgumentException(arguments[0]);
        }
    }

    /** Which signals have handlers, are ignored, are blocked: as Linux says. */
    private static List<String> look() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/status")).stream().filter(line -> line.matches("Sig(Cgt|Ign|Blk):.*")).collect(Collectors.toList());
    }

    private static void signals() throws IOException {
        List<String> before = look();
        Model.version();
        System.out.println(look().equals(before) ? "loading: the same" : "loading changes " + before + " to " + look());
        try (Model model = Golden.model("models/tiny-gelu")) {
            model.encode(List.of("a", "b"));
            model.encode(Texts.of("a text ".repeat(500).split(" ")), Request.of("threads", 2));
        }
        System.out.println(look().equals(before) ? "calling: the same" : "calling changes " + before + " to " + look());
        System.out.println(before.stream().anyMatch(line -> line.startsWith("SigCgt") && !line.matches(".*\\s0+")));
    }

    /** Every call of the cases, right and wrong, under the eyes of -Xcheck:jni. */
    private static void cases() {
        int answered = 0;
        int refused = 0;
        for (String list : List.of("cases", "refused")) {
            for (com.google.gson.JsonObject one : Golden.cases(list)) {
                try (Cancel cancel = new Cancel(); Model model = Golden.open(one)) {
                    if (one.has("cancelled")) {
                        cancel.cancel();
                    }
                    Golden.ask(model, one, cancel);
                    answered++;
                } catch (ClozeException expected) {
                    refused++;
                }
            }
        }
        System.out.println(answered + " answered, " + refused + " refused");
    }

    /** Kilobytes of this process in memory after each of ten rounds of ten thousand calls. */
    private static void memory() throws IOException {
        try (Model tiny = Golden.model("models/tiny-gelu"); Model classifier = Golden.model("heads/labels-three"); Cancel cancel = new Cancel()) {
            Request one = Request.of("threads", 1);
            for (int round = 0; round < 12; round++) {
                for (int call = 0; call < 10_000; call += 10) {
                    for (int i = 0; i < 5; i++) {
                        tiny.encode(Texts.of("a text"), one);
                    }
                    tiny.encode(Texts.of("a text", "more"), Request.of("dimensions", 1 + call % 48).cancel(cancel));
                    tiny.tokenize("a text", null, one);
                    classifier.classify(Texts.of("a text"), null, Request.of("top", 1));
                    new Cancel().close();
                    try {
                        tiny.encode(Texts.of("a text"), Request.of("pooling", "x"));
                    } catch (ClozeException expected) {
                        continue;
                    }
                    throw new AssertionError("it must be refused");
                }
                String pages = Files.readString(Path.of("/proc/self/statm")).split(" ")[1];
                System.out.println(Long.parseLong(pages) * 4);
            }
        }
    }
}
