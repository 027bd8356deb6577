package org.cloze;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Do the programs of the README and of examples/ run as they stand? In a folder in which its models are: small ones of the same kind. */
class ReadmeTest {
    private static final Path HERE = Golden.ROOT.resolve("bindings/java");

    @TempDir
    Path folder;

    @BeforeEach
    void models() throws Exception {
        Path minilm = Golden.ROOT.resolve("models/minilm");
        Map<String, Path> standIns = Map.of(
                "minilm", Files.exists(minilm) ? minilm : Golden.GOLDEN.resolve("models/tiny-gelu"),
                "reranker", Golden.GOLDEN.resolve("heads/rerank-sigmoid"),
                "labels", Golden.GOLDEN.resolve("heads/labels-multi"),
                "inference", Golden.GOLDEN.resolve("heads/labels-three"),
                "answers", Golden.GOLDEN.resolve("answers/wide"),
                "entities", Golden.GOLDEN.resolve("entities/bio"),
                "masks", Golden.GOLDEN.resolve("fill_mask/tied"),
                "splade", Golden.GOLDEN.resolve("sparse/max"),
                "colbert", Golden.GOLDEN.resolve("late/colbert"));
        Path models = Files.createDirectory(folder.resolve("models"));
        for (Map.Entry<String, Path> standIn : standIns.entrySet()) {
            Files.createSymbolicLink(models.resolve(standIn.getKey()), standIn.getValue());
        }
    }

    @Test
    void theReadmeRuns() throws Exception {
        StringBuilder program = new StringBuilder("import java.nio.*;\nimport java.nio.charset.*;\nimport java.nio.file.*;\nimport java.time.*;\n");
        program.append("import java.util.*;\nimport org.cloze.*;\n\npublic class Readme {\n  public static void main(String[] none) throws Exception {\n");
        Matcher blocks = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL).matcher(Golden.read(HERE.resolve("README.md")));
        int count = 0;
        for (; blocks.find(); count++) {
            // A name of one block is another's, too.
            program.append(count < 2 ? "{\n" + blocks.group(1) + "}\n" : blocks.group(1));
        }
        assertTrue(count > 4);
        Path file = Files.writeString(folder.resolve("Readme.java"), program.append("  }\n}\n").toString());
        String said = Golden.java(folder, List.of(file.toString()));
        assertTrue(said.contains("2 vectors of") && said.contains("10 CLOZE_DEADLINE_EXCEEDED"), said);
    }

    @Test
    void theExampleSearchesAndReranks() throws Exception {
        String passages = Golden.ROOT.resolve("examples/demo/passages.txt").toString();
        String program = HERE.resolve("examples/Search.java").toString();
        String said = Golden.java(folder, List.of(program, "models/minilm", passages, "how much is postage", "models/reranker"));
        List<String> lines = said.lines().collect(Collectors.toList());
        assertEquals(5, lines.size(), said);
        assertTrue(lines.stream().allMatch(line -> line.matches(" *\\d+\\. +-?\\d\\.\\d\\d  .+")), said);
    }
}
