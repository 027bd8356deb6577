package org.cloze.lucene;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import org.apache.lucene.document.Document;
import org.apache.lucene.index.StoredFields;
import org.apache.lucene.search.Explanation;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Rescorer;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TopDocs;
import org.cloze.ClozeException;
import org.cloze.Model;
import org.cloze.Ranked;
import org.cloze.Request;
import org.cloze.Results;
import org.cloze.Texts;

/**
 * Ranks the hits of a search again, by how well a stored field answers a query: with a cross-encoder or an embedding model.
 *
 * <p>A hit's score is the model's, which does not depend on the other hits. Hits without the field, and those that a deadline left unread, follow in the
 * order that they had, with a score below all others. The model stays the caller's.
 */
public final class ClozeRescorer extends Rescorer {
    private final Model model;
    private final Request request;
    private final String query;
    private final String field;

    /** A rescorer for one query. {@code request} may have a deadline, a cancel flag, and all else that {@link Model#rerank} takes, but no {@code top}. */
    public ClozeRescorer(Model model, String query, String field, Request request) {
        this.model = model;
        this.query = query;
        this.field = field;
        this.request = request;
    }

    @Override
    public TopDocs rescore(IndexSearcher searcher, TopDocs firstPassTopDocs, int topN) throws IOException {
        ScoreDoc[] hits = firstPassTopDocs.scoreDocs;
        List<ScoreDoc> read = new ArrayList<>();
        List<String> texts = new ArrayList<>();
        List<ScoreDoc> unread = new ArrayList<>();
        for (ScoreDoc hit : hits) {
            String text = text(searcher, hit.doc);
            if (text == null) {
                unread.add(hit);
            } else {
                read.add(hit);
                texts.add(text);
            }
        }

        Results<Ranked> ranks = rank(texts);
        List<ScoreDoc> ranked = new ArrayList<>();
        boolean[] seen = new boolean[read.size()];
        float worst = Float.MAX_VALUE;
        for (Ranked rank : ranks) {
            seen[rank.document] = true;
            worst = Math.min(worst, rank.score);
            ScoreDoc hit = read.get(rank.document);
            ranked.add(new ScoreDoc(hit.doc, rank.score, hit.shardIndex));
        }
        // Lucene breaks ties by the number of the document.
        ranked.sort(Comparator.comparingDouble((ScoreDoc hit) -> -hit.score).thenComparingInt(hit -> hit.doc));
        for (int i = 0; i < seen.length; i++) {
            if (!seen[i]) {
                unread.add(read.get(i));
            }
        }
        List<ScoreDoc> order = Arrays.asList(hits);
        unread.sort(Comparator.comparingInt(order::indexOf));
        float below = ranks.isEmpty() ? 0 : Math.nextDown(worst);
        for (ScoreDoc hit : unread) {
            ranked.add(new ScoreDoc(hit.doc, below, hit.shardIndex));
        }
        ScoreDoc[] best = ranked.subList(0, Math.min(topN, ranked.size())).toArray(new ScoreDoc[0]);
        return new TopDocs(firstPassTopDocs.totalHits, best);
    }

    @Override
    public Explanation explain(IndexSearcher searcher, Explanation firstPassExplanation, int docID) throws IOException {
        String text = text(searcher, docID);
        if (text == null) {
            return Explanation.noMatch("no stored field " + field, firstPassExplanation);
        }
        Ranked rank = model.rerank(query, Texts.of(text), request).get(0);
        return Explanation.match(rank.score, "score by Cloze of field " + field + ", raw number " + rank.logit, firstPassExplanation);
    }

    /** The ranks of what was scored in time. */
    @SuppressWarnings("unchecked")
    private Results<Ranked> rank(List<String> texts) {
        try {
            return model.rerank(query, Texts.of(texts), request);
        } catch (ClozeException stopped) {
            Results<Ranked> partial = stopped.partial(Results.class);
            if (partial == null) {
                throw stopped;
            }
            return partial;
        }
    }

    private String text(IndexSearcher searcher, int doc) throws IOException {
        StoredFields stored = searcher.storedFields();
        Document document = stored.document(doc, Set.of(field));
        return document.get(field);
    }
}
