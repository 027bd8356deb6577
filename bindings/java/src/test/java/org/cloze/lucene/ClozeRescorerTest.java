package org.cloze.lucene;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.Explanation;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.cloze.Model;
import org.cloze.Ranked;
import org.cloze.Request;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Index, search, rank again: with Lucene, end to end. */
class ClozeRescorerTest {
    private static final String QUERY = "how long does it take to get the money of an order back";
    private static final Path ROOT = Path.of(System.getProperty("cloze.root", "../.."));
    private static final Model MODEL = Model.open(ROOT.resolve("tests/golden/heads/rerank-sigmoid"));
    private static final List<String> PASSAGES = new ArrayList<>();
    private static IndexSearcher searcher;
    private static TopDocs first;

    @BeforeAll
    static void index() throws Exception {
        PASSAGES.addAll(Files.readAllLines(ROOT.resolve("examples/demo/passages.txt")));
        ByteBuffersDirectory directory = new ByteBuffersDirectory();
        try (IndexWriter writer = new IndexWriter(directory, new IndexWriterConfig(new StandardAnalyzer()))) {
            for (String passage : PASSAGES) {
                Document document = new Document();
                document.add(new TextField("text", passage, Field.Store.YES));
                writer.addDocument(document);
                writer.commit();
            }
            Document bare = new Document();
            bare.add(new TextField("text", "the order without a stored text", Field.Store.NO));
            bare.add(new StringField("kind", "bare", Field.Store.YES));
            writer.addDocument(bare);
        }
        searcher = new IndexSearcher(DirectoryReader.open(directory));
        BooleanQuery.Builder query = new BooleanQuery.Builder();
        for (String word : QUERY.split(" ")) {
            query.add(new TermQuery(new Term("text", word)), BooleanClause.Occur.SHOULD);
        }
        first = searcher.search(query.build(), 100);
        assertTrue(first.scoreDocs.length > 5, "the first search finds hits");
    }

    @AfterAll
    static void close() throws Exception {
        searcher.getIndexReader().close();
    }

    private static String text(int doc) throws Exception {
        return searcher.storedFields().document(doc).get("text");
    }

    @Test
    void hitsStandInTheOrderOfTheModel() throws Exception {
        List<String> hits = new ArrayList<>();
        for (ScoreDoc hit : first.scoreDocs) {
            if (text(hit.doc) != null) {
                hits.add(text(hit.doc));
            }
        }
        List<Ranked> wanted = MODEL.rerank(QUERY, hits);
        TopDocs found = new ClozeRescorer(MODEL, QUERY, "text", Request.DEFAULT).rescore(searcher, first, 100);
        assertEquals(first.scoreDocs.length, found.scoreDocs.length);
        for (int rank = 0; rank < wanted.size(); rank++) {
            assertEquals(hits.get(wanted.get(rank).document), text(found.scoreDocs[rank].doc));
            assertEquals(wanted.get(rank).score, found.scoreDocs[rank].score);
        }
        // Without text there is nothing to judge by.
        ScoreDoc last = found.scoreDocs[found.scoreDocs.length - 1];
        assertEquals(null, text(last.doc));
        assertTrue(last.score < wanted.get(wanted.size() - 1).score);

        TopDocs best = new ClozeRescorer(MODEL, QUERY, "text", Request.DEFAULT).rescore(searcher, first, 3);
        assertEquals(3, best.scoreDocs.length);
        assertEquals(found.scoreDocs[0].doc, best.scoreDocs[0].doc);
    }

    @Test
    void aScoreIsExplained() throws Exception {
        ClozeRescorer rescorer = new ClozeRescorer(MODEL, QUERY, "text", Request.DEFAULT);
        ScoreDoc hit = rescorer.rescore(searcher, first, 1).scoreDocs[0];
        Explanation why = rescorer.explain(searcher, Explanation.match(1, "the first search"), hit.doc);
        assertEquals(hit.score, why.getValue().floatValue());
    }

    @Test
    void aDeadlineLeavesTheOrderOfTheSearch() throws Exception {
        Request none = Request.DEFAULT.deadline(Duration.ZERO);
        TopDocs found = new ClozeRescorer(MODEL, QUERY, "text", none).rescore(searcher, first, 100);
        for (int rank = 0; rank < first.scoreDocs.length; rank++) {
            assertEquals(first.scoreDocs[rank].doc, found.scoreDocs[rank].doc);
        }
    }
}
