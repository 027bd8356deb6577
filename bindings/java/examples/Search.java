import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.cloze.Model;
import org.cloze.Options;
import org.cloze.Ranked;
import org.cloze.Request;
import org.cloze.Texts;

/**
 * Searches in a text file, a passage a line: the nearest passages by vectors, then the best of these by a cross-encoder, if there is one.
 *
 * <pre>java -cp cloze-0.1.0.jar Search.java models/minilm passages.txt "how much is postage" [models/reranker]</pre>
 */
public final class Search {
    private static final int TOP = 5;

    public static void main(String[] arguments) throws Exception {
        List<String> passages = new ArrayList<>(Files.readAllLines(Path.of(arguments[1])));
        passages.removeIf(String::isBlank);
        String query = arguments[2];

        List<String> nearest = new ArrayList<>();
        List<Float> scores = new ArrayList<>();
        try (Model model = Model.open(Path.of(arguments[0]), Options.DEFAULT)) {
            Request unit = Request.of("normalize", true);
            float[][] vectors = model.encode(Texts.of(passages), unit).toArray();
            float[] asked = model.encode(Texts.of(query), unit).row(0);
            List<Integer> order = new ArrayList<>();
            for (int i = 0; i < vectors.length; i++) {
                order.add(i);
            }
            order.sort(Comparator.comparingDouble(i -> -dot(asked, vectors[i])));
            for (int i : order.subList(0, Math.min(TOP, order.size()))) {
                nearest.add(passages.get(i));
                scores.add(dot(asked, vectors[i]));
            }
        }
        if (arguments.length < 4) {
            for (int i = 0; i < nearest.size(); i++) {
                print(i, scores.get(i), nearest.get(i));
            }
            return;
        }
        try (Model judge = Model.open(Path.of(arguments[3]))) {
            int place = 0;
            for (Ranked rank : judge.rerank(query, nearest)) {
                print(place++, rank.score, nearest.get(rank.document));
            }
        }
    }

    private static void print(int place, float score, String passage) {
        System.out.printf("%2d. %6.2f  %s%n", place + 1, score, passage);
    }

    private static float dot(float[] left, float[] right) {
        float sum = 0;
        for (int i = 0; i < left.length; i++) {
            sum += left[i] * right[i];
        }
        return sum;
    }
}
