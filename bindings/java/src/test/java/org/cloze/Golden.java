package org.cloze;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What the tests share: the golden models of the repository, which the reference implementation answered for, and the cases of all bindings. */
final class Golden {
    static final Path ROOT = Path.of(System.getProperty("cloze.root", "../..")).toAbsolutePath().normalize();
    static final Path GOLDEN = ROOT.resolve("tests/golden");

    private Golden() {}

    static Model model(String folder) {
        return Model.open(GOLDEN.resolve(folder));
    }

    static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException why) {
            throw new UncheckedIOException(why);
        }
    }

    /** What another JVM with the same classes says on both streams: a class, or a source file, which Java runs since 11. */
    static String java(Path folder, List<String> arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        if (Runtime.version().feature() >= 24) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        command.addAll(List.of("-cp", System.getProperty("java.class.path")));
        command.addAll(arguments);
        Process process = new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (process.waitFor() != 0) {
            throw new AssertionError(said);
        }
        return said;
    }

    /** The cases of tests/golden/bindings/cases.json under a name: `cases` or `refused`. */
    static List<JsonObject> cases(String name) {
        JsonObject file = new Gson().fromJson(read(GOLDEN.resolve("bindings/cases.json")), JsonObject.class);
        List<JsonObject> found = new ArrayList<>();
        file.getAsJsonArray(name).forEach(one -> found.add(one.getAsJsonObject()));
        return found;
    }

    static Model open(JsonObject one) {
        Options options = Options.DEFAULT;
        for (Map.Entry<String, JsonElement> word : object(one, "options").entrySet()) {
            options = options.with(word.getKey(), word.getValue().getAsString());
        }
        if (one.has("files")) {
            Map<String, byte[]> files = new LinkedHashMap<>();
            object(one, "files").entrySet().forEach(file -> files.put(file.getKey(), Texts.utf8(file.getValue().getAsString())));
            return Model.open(files, options);
        }
        String name = one.get("model").getAsString();
        if (name.indexOf('\0') >= 0) {
            // Java's own Path refuses it.
            Words.word(name, "a path");
        }
        Path folder = GOLDEN.resolve(name);
        return one.has("memory") ? Model.open(files(folder), options) : Model.open(folder, options);
    }

    /** Every file under a folder, by its path there. */
    static Map<String, byte[]> files(Path folder) {
        try (Stream<Path> paths = Files.walk(folder)) {
            Map<String, byte[]> files = new LinkedHashMap<>();
            for (Path path : paths.filter(Files::isRegularFile).collect(Collectors.toList())) {
                files.put(folder.relativize(path).toString(), Files.readAllBytes(path));
            }
            return files;
        } catch (IOException why) {
            throw new UncheckedIOException(why);
        }
    }

    static JsonObject object(JsonObject one, String name) {
        return one.has(name) ? one.getAsJsonObject(name) : new JsonObject();
    }

    /** The request of a case. Its offsets are code points where it says nothing. */
    static Request request(JsonObject one, Cancel cancel) {
        Request request = Request.of("offsets", "codepoint").cancel(cancel);
        for (Map.Entry<String, JsonElement> word : object(one, "set").entrySet()) {
            request = request.with(word.getKey(), word.getValue().getAsString());
        }
        return request;
    }

    static List<String> strings(JsonObject one, String name) {
        List<String> found = new ArrayList<>();
        if (one.has(name)) {
            one.getAsJsonArray(name).forEach(text -> found.add(text.isJsonNull() ? null : text.getAsString()));
        }
        return found;
    }

    static Texts texts(JsonObject one) {
        if (!one.has("hex")) {
            return Texts.of(strings(one, "texts"));
        }
        return Texts.utf8(strings(one, "texts").stream().map(Golden::bytes).toArray(byte[][]::new));
    }

    static byte[] bytes(String hex) {
        byte[] bytes = new byte[hex.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }

    /** The call of a case, through the methods that a user has. */
    static Object ask(Model model, JsonObject one, Cancel cancel) {
        String call = one.get("call").getAsString();
        Request request = request(one, cancel);
        List<String> pairs = strings(one, "pairs");
        switch (call) {
            case "model_describe":
                return model.describe();
            case "model_verify":
                return model.verify();
            case "encode":
                return model.encode(texts(one), request);
            case "encode_sparse":
                return model.encodeSparse(texts(one), request);
            case "encode_late":
                return model.encodeLate(texts(one), request);
            case "rerank":
                return model.rerank(one.get("query").getAsString(), texts(one), request);
            case "extract":
                return model.extract(one.get("query").getAsString(), texts(one), request);
            case "classify":
                return model.classify(texts(one), one.has("pairs") ? Texts.of(pairs) : null, request);
            case "classify_as":
                return model.classifyAs(texts(one), Texts.of(strings(one, "labels")), request);
            case "next_sentence":
                return model.nextSentence(texts(one), Texts.of(pairs), request);
            case "fill_mask":
                return model.fillMask(texts(one), Texts.of(strings(one, "candidates")), true, request);
            case "tag":
                return model.tag(texts(one), request);
            case "tag_words":
                return model.tagWords(words(one.getAsJsonArray("texts")), request);
            case "tokenize":
                return one.has("hex")
                        ? model.tokenize(new Object[] {texts(one).array()[0], null}, request)
                        : model.tokenize(strings(one, "texts").get(0), pairs.isEmpty() ? null : pairs.get(0), request);
            case "attention":
                return model.attention(strings(one, "texts").get(0), null, request);
            default:
                throw new AssertionError("no such call: " + call);
        }
    }

    private static List<List<String>> words(JsonArray inputs) {
        List<List<String>> found = new ArrayList<>();
        for (JsonElement input : inputs) {
            List<String> words = new ArrayList<>();
            input.getAsJsonArray().forEach(word -> words.add(word.getAsString()));
            found.add(words);
        }
        return found;
    }
}
