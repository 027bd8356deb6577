package org.cloze;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Are the answers those of the reference, and the statuses those of the header? tests/golden/bindings/cases.json, which the bindings of all languages
 * read; tests/golden/make/bindings.py says what its fields mean.
 */
class CasesTest {
    @TestFactory
    Stream<DynamicTest> theAnswerIsTheReferences() {
        return Golden.cases("cases").stream().map(one -> dynamicTest(one.get("name").getAsString(), () -> {
            try (Model model = Golden.open(one)) {
                judge(one, Golden.ask(model, one, null));
            }
        }));
    }

    @TestFactory
    Stream<DynamicTest> whatCannotBeDoneHasItsStatus() {
        return Golden.cases("refused").stream().map(one -> dynamicTest(one.get("name").getAsString(), () -> refuse(one)));
    }

    private static void refuse(JsonObject one) {
        try (Cancel cancel = new Cancel()) {
            if (one.has("cancelled")) {
                cancel.cancel();
            }
            ClozeException failure = assertThrows(ClozeException.class, () -> {
                try (Model model = Golden.open(one)) {
                    Golden.ask(model, one, cancel);
                }
            });
            assertEquals(one.get("status").getAsString(), failure.name());
            assertTrue(!one.has("message") || failure.getMessage().contains(one.get("message").getAsString()), failure.getMessage());
            Object partial = failure.partial(Object.class);
            if (one.has("finished")) {
                int finished = partial instanceof Vectors ? ((Vectors) partial).finished() : ((Results<?>) partial).finished();
                assertEquals(one.get("finished").getAsInt(), finished);
            } else {
                assertEquals(null, partial);
            }
        }
    }

    // -----------------------------------------------------------------------------------------------------------------
    // Judges

    private final Gson gson = new Gson();
    private double tolerance;

    /** Compares by call; an answer as a tree, its fields by the names of the cases. */
    @SuppressWarnings("unchecked")
    private void judge(JsonObject one, Object answer) {
        tolerance = one.get("tolerance").getAsDouble();
        JsonObject wanted = one.getAsJsonObject("expect");
        switch (one.get("call").getAsString()) {
            case "encode":
                vectors((Vectors) answer, wanted);
                break;
            case "rerank":
                ranks((List<Ranked>) answer, wanted);
                break;
            case "classify":
            case "classify_as":
                labels((List<List<Label>>) answer, wanted.getAsJsonArray("answers"));
                break;
            case "encode_sparse":
                weights((List<List<Weight>>) answer, wanted.getAsJsonArray("weights"));
                break;
            case "encode_late":
                late((List<List<LateVector>>) answer, wanted.getAsJsonArray("answers"));
                break;
            case "tokenize":
                tokens((Tokens) answer, wanted);
                break;
            case "attention":
                maps((Maps) answer, wanted);
                break;
            case "model_describe":
                JsonObject about = gson.fromJson((String) answer, JsonObject.class);
                wanted.entrySet().forEach(field -> assertEquals(field.getValue(), about.get(field.getKey()), field.getKey()));
                break;
            case "extract":
                answers((List<Extracted>) answer, wanted.getAsJsonArray("answers"));
                break;
            default:
                like(gson.toJsonTree(answer), wanted.get("answers"), "answers");
        }
    }

    private void vectors(Vectors found, JsonObject wanted) {
        assertEquals(wanted.get("dimensions").getAsInt(), found.dimensions());
        JsonArray rows = wanted.getAsJsonArray("rows");
        assertEquals(rows.size(), found.finished());
        for (int text = 0; text < rows.size(); text++) {
            assertEquals(rows.get(text).getAsInt(), found.firstRow(text + 1) - found.firstRow(text));
        }
        if (wanted.has("bits")) {
            JsonArray bits = wanted.getAsJsonArray("bits");
            for (int row = 0; row < bits.size(); row++) {
                byte[] bytes = new byte[found.rowBytes()];
                found.bytes().position(row * bytes.length).get(bytes);
                assertEquals(bits.get(row).getAsString(), hex(bytes));
                for (int bit = 0; bit < found.dimensions(); bit++) {
                    assertEquals(bytes[bit / 8] >> 7 - bit % 8 & 1, found.row(row)[bit]);
                }
            }
        } else {
            like(gson.toJsonTree(found.toArray()), wanted.get("vectors"), "vectors");
        }
        for (int text = 0; wanted.has("tokens") && text < found.finished(); text++) {
            Input input = found.inputs().get(text);
            assertEquals(wanted.getAsJsonArray("tokens").get(text).getAsInt(), input.tokens);
            assertEquals(wanted.getAsJsonArray("totals").get(text).getAsInt(), input.total);
            assertEquals(wanted.getAsJsonArray("truncated").get(text).getAsBoolean(), input.truncated);
        }
    }

    private static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte each : bytes) {
            text.append(String.format("%02x", each));
        }
        return text.toString();
    }

    private void ranks(List<Ranked> found, JsonObject wanted) {
        JsonArray order = wanted.getAsJsonArray("order");
        assertEquals(order.size(), found.size());
        for (int place = 0; place < order.size(); place++) {
            Ranked rank = found.get(place);
            assertEquals(order.get(place).getAsInt(), rank.document);
            if (wanted.has("scores")) {
                near(rank.score, wanted.getAsJsonArray("scores").get(rank.document), "score");
            }
            near(rank.logit, wanted.getAsJsonArray("logits").get(rank.document), "logit");
        }
    }

    private void labels(List<List<Label>> found, JsonArray wanted) {
        assertEquals(wanted.size(), found.size());
        for (int input = 0; input < found.size(); input++) {
            JsonObject one = wanted.get(input).getAsJsonObject();
            List<Label> labels = found.get(input);
            assertEquals(one.getAsJsonArray("labels").size(), labels.size());
            for (int place = 0; place < labels.size(); place++) {
                Label label = labels.get(place);
                assertEquals(one.getAsJsonArray("labels").get(place).getAsInt(), label.number);
                assertEquals(one.getAsJsonArray("names").get(place).getAsString(), label.name);
                near(label.score, one.getAsJsonArray("scores").get(place), "score");
                if (one.has("logits")) {
                    near(label.logit, one.getAsJsonArray("logits").get(place), "logit");
                }
            }
        }
    }

    private void weights(List<List<Weight>> found, JsonArray wanted) {
        assertEquals(wanted.size(), found.size());
        for (int input = 0; input < found.size(); input++) {
            JsonArray one = wanted.get(input).getAsJsonArray();
            assertEquals(one.size(), found.get(input).size());
            for (int place = 0; place < one.size(); place++) {
                assertEquals(one.get(place).getAsJsonArray().get(0).getAsInt(), found.get(input).get(place).id);
                near(found.get(input).get(place).weight, one.get(place).getAsJsonArray().get(1), "weight");
            }
        }
    }

    private void late(List<List<LateVector>> found, JsonArray wanted) {
        assertEquals(wanted.size(), found.size());
        for (int input = 0; input < found.size(); input++) {
            JsonObject one = wanted.get(input).getAsJsonObject();
            assertEquals(one.getAsJsonArray("ids").size(), found.get(input).size());
            for (int row = 0; row < found.get(input).size(); row++) {
                LateVector vector = found.get(input).get(row);
                assertEquals(one.getAsJsonArray("ids").get(row).getAsInt(), vector.id);
                assertEquals("[" + vector.start + "," + vector.end + "]", one.getAsJsonArray("offsets").get(row).toString());
                like(gson.toJsonTree(vector.vector), one.getAsJsonArray("vectors").get(row), "vector");
            }
        }
    }

    private void answers(List<Extracted> found, JsonArray wanted) {
        assertEquals(wanted.size(), found.size());
        for (int context = 0; context < found.size(); context++) {
            JsonObject one = wanted.get(context).getAsJsonObject();
            like(gson.toJsonTree(found.get(context).answers), one.get("answers"), "answers");
            near(found.get(context).noAnswerScore, one.getAsJsonObject("none").get("score"), "none");
            near(found.get(context).noAnswerLogit, one.getAsJsonObject("none").get("logit"), "none");
        }
    }

    private static void tokens(Tokens found, JsonObject wanted) {
        assertEquals(wanted.get("total").getAsInt(), found.total);
        assertEquals(wanted.get("truncated").getAsBoolean(), found.truncated);
        assertEquals(wanted.getAsJsonArray("windows").size(), found.windows.size());
        for (int window = 0; window < found.windows.size(); window++) {
            JsonObject one = wanted.getAsJsonArray("windows").get(window).getAsJsonObject();
            assertEquals(one.getAsJsonArray("ids").size(), found.windows.get(window).size());
            for (int at = 0; at < found.windows.get(window).size(); at++) {
                Token token = found.windows.get(window).get(at);
                assertEquals(one.getAsJsonArray("ids").get(at).getAsInt(), token.id);
                assertEquals(one.getAsJsonArray("types").get(at).getAsInt(), token.typeId);
                assertEquals(one.getAsJsonArray("special").get(at).getAsBoolean(), token.special);
                assertEquals(one.getAsJsonArray("offsets").get(at).toString(), "[" + token.start + "," + token.end + "]");
                assertEquals(one.getAsJsonArray("tokens").get(at).getAsString(), token.text);
            }
        }
    }

    private void maps(Maps found, JsonObject wanted) {
        JsonObject map = wanted.getAsJsonObject("map");
        JsonObject state = wanted.getAsJsonObject("state");
        assertEquals(wanted.get("layers").getAsInt(), found.attention.length);
        assertEquals(wanted.get("heads").getAsInt(), found.attention[0].length);
        assertEquals(wanted.get("tokens").getAsInt(), found.tokens.size());
        flat(found.attention[map.get("layer").getAsInt()][map.get("head").getAsInt()], map.getAsJsonArray("values"));
        flat(found.states[state.get("layer").getAsInt()], state.getAsJsonArray("values"));
    }

    private void flat(float[][] found, JsonArray wanted) {
        assertEquals(wanted.size(), found.length * found[0].length);
        for (int i = 0; i < wanted.size(); i++) {
            near(found[i / found[0].length][i % found[0].length], wanted.get(i), "value " + i);
        }
    }

    /** A tree against what is wanted of it: broken numbers are near, all else is equal. */
    private void like(JsonElement found, JsonElement wanted, String what) {
        if (wanted.isJsonArray()) {
            assertEquals(wanted.getAsJsonArray().size(), found.getAsJsonArray().size(), what);
            for (int i = 0; i < wanted.getAsJsonArray().size(); i++) {
                like(found.getAsJsonArray().get(i), wanted.getAsJsonArray().get(i), what + "[" + i + "]");
            }
        } else if (wanted.isJsonObject()) {
            wanted.getAsJsonObject().entrySet().forEach(field -> field(found.getAsJsonObject(), field.getKey(), field.getValue(), what));
        } else if (wanted.getAsJsonPrimitive().isNumber()) {
            near(found.getAsDouble(), wanted, what);
        } else {
            assertEquals(wanted, found, what);
        }
    }

    private void field(JsonObject found, String name, JsonElement wanted, String what) {
        if (name.equals("words")) {
            assertEquals(wanted.toString(), "[" + found.get("firstWord") + "," + found.get("endWord") + "]");
        } else {
            String here = name.equals("other_logit") ? "otherLogit" : name;
            like(found.get(here), wanted, what + "." + name);
        }
    }

    private void near(double found, JsonElement wanted, String what) {
        double number = wanted.getAsDouble();
        double most = tolerance * Math.max(1, Math.abs(number));
        // Whole numbers are ids and places.
        boolean whole = wanted.toString().matches("-?\\d+");
        assertEquals(number, found, whole ? 0 : most, what);
    }
}
