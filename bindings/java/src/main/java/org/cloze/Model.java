package org.cloze;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.LongFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A model: a Hugging Face or sentence-transformers folder or a GGUF file. It never changes; any number of threads may use it at once, and one may close it while
 * others are in calls, which end as if nothing had happened.
 *
 * <p>Each task has a method that takes strings and asks for what the model's files say, and one that takes {@link Texts} and a {@link Request}. A failed call
 * throws a {@link ClozeException}; a closed model, {@link IllegalStateException}.
 */
public final class Model implements AutoCloseable {
    /** What {@link #memory()} asks for: the keys of cloze_memory_statistics. */
    private static final List<String> MEMORY = List.of("weights_mapped", "weights_owned", "workspaces", "calls");

    private static final Pattern POSITIONS = Pattern.compile("\"positions\":(\\d+)");

    private final Handle handle;

    private Model(long address) {
        handle = new Handle(this, address, Native::free, "model");
    }

    /** Opens a model as its files say. */
    public static Model open(Path path) {
        return open(path, Options.DEFAULT);
    }

    /** Opens a model. */
    public static Model open(Path path, Options options) {
        Object[] where = {Words.word(path.toString(), "a path")};
        return new Model(Reply.read(Native.open(where, options.words()), Reply::number));
    }

    /** Opens a model whose files are in memory, by their names in its folder; or one GGUF file, of any name. */
    public static Model open(Map<String, byte[]> files, Options options) {
        Map<String, byte[]> each = new LinkedHashMap<>(files);
        Object[] names = each.keySet().stream().map(name -> Words.word(name, "the name of a file")).toArray();
        return new Model(Reply.read(Native.openFiles(names, each.values().toArray(), options.words()), Reply::number));
    }

    /** The version of the library, such as 0.1.0. */
    public static String version() {
        return new String(Native.version(), java.nio.charset.StandardCharsets.UTF_8);
    }

    // -----------------------------------------------------------------------------------------------------------------
    // Its life, and what it is

    /** Lets go of the model: calls that run end well, later ones throw. The garbage collector does it, too, later. */
    @Override
    public void close() {
        handle.close();
    }

    Handle handle() {
        return handle;
    }

    /** Whether it was closed. */
    public boolean isClosed() {
        return handle.isClosed();
    }

    /** The family, sizes, limits, prompts and heads of the model, as a JSON object. */
    public String describe() {
        return ask(Native::describe, Reply::string);
    }

    /**
     * Checks a GGUF file that carries probes: its checksums, and how near its answers are to those before it was quantised, as a JSON object. A file that fails
     * throws {@code CLOZE_VERIFICATION_FAILED}, and the object is the exception's {@code partial(String.class)}.
     */
    public String verify() {
        return ask(Native::verify, Reply::string);
    }

    /** The number of values of one vector. */
    public int dimensions(Request request) {
        return ask(model -> Native.dimensions(model, request.words()), Reply::size);
    }

    /** What the model holds at this moment, in bytes, and how many calls run. */
    public Map<String, Long> memory() {
        Map<String, Long> found = new LinkedHashMap<>();
        for (String key : MEMORY) {
            Object[] word = {Words.word(key, "a key")};
            found.put(key, ask(model -> Native.memory(model, word), Reply::number));
        }
        return Collections.unmodifiableMap(found);
    }

    /** The most bytes that a call needs at once for so many texts of so many tokens, beside the weights and the vectors. */
    public long memoryPeak(long tokens, long texts) {
        if (tokens < 0 || texts < 0) {
            throw ClozeException.invalid("tokens and texts must not be negative: " + tokens + ", " + texts);
        }
        return ask(model -> Native.memoryPeak(model, tokens, texts), Reply::number);
    }

    /** Frees the work areas that no running call uses. */
    public void memoryTrim() {
        ask(Native::memoryTrim, reply -> null);
    }

    // -----------------------------------------------------------------------------------------------------------------
    // Vectors

    /** The vector of a text. */
    public float[] encode(String text) {
        return encode(Texts.of(text), Request.DEFAULT).row(0);
    }

    /** A vector for each text. */
    public float[][] encode(List<String> texts) {
        return encode(Texts.of(texts), Request.DEFAULT).toArray();
    }

    /** Vectors of texts, or of their tokens where {@code vectors} is {@code token}. */
    public Vectors encode(Texts texts, Request request) {
        return vectors(texts, request, null);
    }

    /**
     * The same, written to {@code out} without a copy: to a direct buffer, from its position on. One that is too small throws {@code CLOZE_BUFFER_TOO_SMALL};
     * after a deadline it has what was finished. Its position does not change.
     */
    public Vectors encode(Texts texts, Request request, ByteBuffer out) {
        if (!out.isDirect() || out.isReadOnly()) {
            throw new IllegalArgumentException("out must be a direct buffer that can be written to");
        }
        return vectors(texts, request, out.slice());
    }

    private Vectors vectors(Texts texts, Request request, ByteBuffer out) {
        boolean scaled = request.output().equals("int8");
        // A text has at most as many tokens as bytes, nearly always; where it has more, the shim tries again. Windows share some.
        long tokens = !request.ofTokens() ? 0 : request.inWindows() ? 2 * texts.tokens(Long.MAX_VALUE) : texts.tokens(positions());
        return call(request, (model, cancel) -> Native.encode(model, request.words(), cancel, texts.array(), out, tokens, scaled),
                reply -> new Vectors(reply, request.output(), out));
    }

    /** The most tokens of a text, which the description has. */
    private long positions() {
        Matcher matcher = POSITIONS.matcher(describe());
        return matcher.find() ? Long.parseLong(matcher.group(1)) : Long.MAX_VALUE;
    }

    /** Sparse weights of the vocabulary (SPLADE), of each text the largest first. */
    public Results<List<Weight>> encodeSparse(Texts texts, Request request) {
        return call(request, (model, cancel) -> Native.encodeSparse(model, request.words(), cancel, texts.array()),
                reply -> reply.results(() -> reply.list(() -> new Weight(reply.id(), reply.value(), reply.string()))));
    }

    /** A vector for each token that counts (ColBERT); {@code role} is {@code query} or {@code document}. */
    public Results<List<LateVector>> encodeLate(Texts texts, Request request) {
        return call(request, (model, cancel) -> Native.encodeLate(model, request.words(), cancel, texts.array()), Model::late);
    }

    private static Results<List<LateVector>> late(Reply reply) {
        int finished = reply.size();
        List<Input> inputs = reply.list(reply::input);
        int width = reply.size();
        List<List<LateVector>> found = reply.list(finished, () -> reply.list(
                () -> new LateVector(reply.id(), reply.size(), reply.size(), reply.string(), reply.values(width))));
        return new Results<>(found, finished, inputs);
    }

    // -----------------------------------------------------------------------------------------------------------------
    // Heads

    /** Documents in the order of how well they answer a query, the best first. */
    public Results<Ranked> rerank(String query, List<String> documents) {
        return rerank(query, Texts.of(documents), Request.DEFAULT);
    }

    /** Documents in the order of how well they answer a query, the best first. */
    public Results<Ranked> rerank(String query, Texts documents, Request request) {
        Object[] asked = {Texts.utf8(query)};
        return call(request, (model, cancel) -> Native.rerank(model, request.words(), cancel, asked, documents.array()), reply -> {
            int scored = reply.size();
            List<Input> inputs = reply.list(reply::input);
            return new Results<>(reply.list(() -> new Ranked(reply.size(), reply.value(), reply.value())), scored, inputs);
        });
    }

    /** The labels of each text, the best first. */
    public Results<List<Label>> classify(List<String> texts) {
        return classify(Texts.of(texts), null, Request.DEFAULT);
    }

    /** The labels of each text, or of each text with its pair, the best first; {@code pairs} may be null. */
    public Results<List<Label>> classify(Texts texts, Texts pairs, Request request) {
        Object[] seconds = (pairs == null ? Texts.utf8(new byte[texts.size()][]) : sameSize(texts, pairs)).pairs();
        return call(request, (model, cancel) -> Native.classify(model, request.words(), cancel, texts.array(), seconds), Model::labels);
    }

    /** How well each of your own labels fits each text, by a model of natural language inference. */
    public Results<List<Label>> classifyAs(Texts texts, Texts labels, Request request) {
        return call(request, (model, cancel) -> Native.classifyAs(model, request.words(), cancel, texts.array(), labels.array()), Model::labels);
    }

    private static Results<List<Label>> labels(Reply reply) {
        return reply.results(() -> reply.list(() -> new Label(reply.string(), reply.size(), reply.value(), reply.value())));
    }

    /** How probably the second text of each pair follows the first. */
    public Results<Follow> nextSentence(Texts texts, Texts pairs, Request request) {
        Object[] seconds = sameSize(texts, pairs).array();
        return call(request, (model, cancel) -> Native.nextSentence(model, request.words(), cancel, texts.array(), seconds),
                reply -> reply.results(() -> new Follow(reply.value(), reply.value(), reply.value())));
    }

    /** The parts of each context that answer a question. */
    public Results<Extracted> extract(String question, List<String> contexts) {
        return extract(question, Texts.of(contexts), Request.DEFAULT);
    }

    /** The parts of each context that answer a question. */
    public Results<Extracted> extract(String question, Texts contexts, Request request) {
        Object[] asked = {Texts.utf8(question)};
        return call(request, (model, cancel) -> Native.extract(model, request.words(), cancel, asked, contexts.array()),
                reply -> reply.results(() -> new Extracted(
                        reply.list(() -> new Answer(reply.string(), reply.size(), reply.size(), reply.value(), reply.value())),
                        reply.value(), reply.value())));
    }

    /** The entities of each text, in the order in which they stand there. */
    public Results<List<Entity>> tag(List<String> texts) {
        return tag(Texts.of(texts), Request.DEFAULT);
    }

    /** The entities of each text, in the order in which they stand there. */
    public Results<List<Entity>> tag(Texts texts, Request request) {
        return call(request, (model, cancel) -> Native.tag(model, request.words(), cancel, texts.array()), Model::entities);
    }

    /** The same, of words that you have found: an input is a list of them. */
    public Results<List<Entity>> tagWords(List<List<String>> inputs, Request request) {
        List<String> words = new ArrayList<>();
        inputs.forEach(words::addAll);
        int[] counts = inputs.stream().mapToInt(List::size).toArray();
        Object[] all = Texts.of(words).array();
        return call(request, (model, cancel) -> Native.tagWords(model, request.words(), cancel, all, counts), Model::entities);
    }

    private static Results<List<Entity>> entities(Reply reply) {
        return reply.results(() -> reply.list(() -> new Entity(
                reply.string(), reply.string(), reply.size(), reply.size(), reply.value(), reply.size(), reply.size())));
    }

    /** Tokens for the blanks of each text, the best first. */
    public Results<List<Blank>> fillMask(List<String> texts) {
        return fillMask(Texts.of(texts), Texts.of(), false, Request.DEFAULT);
    }

    /** Tokens for the blanks of each text, or those of your own candidates, where there are any; with the whole text filled so, if it is asked for. */
    public Results<List<Blank>> fillMask(Texts texts, Texts candidates, boolean withText, Request request) {
        return call(request, (model, cancel) -> Native.fillMask(model, request.words(), cancel, texts.array(), candidates.array(), withText),
                reply -> reply.results(() -> reply.list(() -> new Blank(reply.size(), reply.size(), reply.list(
                        () -> new Fill(reply.string(), reply.id(), reply.value(), reply.value(), reply.string()))))));
    }

    // -----------------------------------------------------------------------------------------------------------------
    // Looking inside

    /** The tokens that the encoder would see of a text, or of a text and its pair, which may be null. */
    public Tokens tokenize(String text, String pair, Request request) {
        Object[] texts = {Texts.utf8(text), pair == null ? null : Texts.utf8(pair)};
        return tokenize(texts, request);
    }

    Tokens tokenize(Object[] texts, Request request) {
        return ask(model -> Native.tokenize(model, request.words(), texts),
                reply -> new Tokens(reply.size(), reply.truth(), reply.list(() -> window(reply))));
    }

    static List<Token> window(Reply reply) {
        return reply.list(() -> new Token(reply.string(), reply.id(), reply.id(), reply.truth(), reply.size(), reply.size()));
    }

    /** What each head of each layer looks at in a text, or in a text and its pair, which may be null, and all hidden states. */
    public Maps attention(String text, String pair, Request request) {
        Object[] texts = {Texts.utf8(text), pair == null ? null : Texts.utf8(pair)};
        return call(request, (model, cancel) -> Native.attention(model, request.words(), cancel, texts), Maps::new);
    }

    // -----------------------------------------------------------------------------------------------------------------
    // How calls are made

    private interface Body {
        byte[] call(long model, long cancel);
    }

    /** A call that can be stopped. Model and flag are held for as long as it takes. */
    private <T> T call(Request request, Body body, Function<Reply, T> read) {
        Cancel flag = request.cancel();
        if (flag == null) {
            return ask(model -> body.call(model, 0), read);
        }
        long cancel = flag.handle().enter();
        try {
            return ask(model -> body.call(model, cancel), read);
        } finally {
            flag.handle().leave();
        }
    }

    private <T> T ask(LongFunction<byte[]> body, Function<Reply, T> read) {
        byte[] reply;
        long model = handle.enter();
        try {
            reply = body.apply(model);
        } finally {
            handle.leave();
        }
        return Reply.read(reply, read);
    }

    private static Texts sameSize(Texts texts, Texts pairs) {
        if (texts.size() != pairs.size()) {
            throw ClozeException.invalid("there are " + texts.size() + " texts and " + pairs.size() + " pairs: give each text its pair");
        }
        return pairs;
    }
}
