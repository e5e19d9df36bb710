package io.headway.eval.published;

import io.headway.eval.Mix;
import io.headway.eval.Work;
import java.io.IOException;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.SearcherManager;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.ByteBuffersDirectory;

/** Lucene: an index in memory that some operations change and most search. */
public final class LuceneSearch implements Work {
    private static final int DOCUMENTS = 5_000;
    private static final int WORDS = 60;
    private static final int VOCABULARY = 3_000;
    private static final int CHANGES_OF_EIGHT = 2;
    private static final int REFRESH_EVERY = 256;

    private final IndexWriter writer;
    private final SearcherManager searchers;

    /** Fills the index. */
    public LuceneSearch() throws IOException {
        writer = new IndexWriter(new ByteBuffersDirectory(), new IndexWriterConfig(new StandardAnalyzer()));
        Client filler = new Client(1);
        for (int i = 0; i < DOCUMENTS; i++) {
            filler.change(i);
        }
        searchers = new SearcherManager(writer, null);
    }

    @Override
    public Operation operation(int thread, int threads) {
        return new Client(thread + 2);
    }

    @Override
    public boolean hasLatency() {
        return true;
    }

    private final class Client implements Operation {
        private long random;

        Client(long seed) {
            random = Mix.steps(seed, 7);
        }

        @Override
        public void once() throws IOException {
            int kind = below(REFRESH_EVERY);
            if (kind == 0) {
                searchers.maybeRefresh();
            } else if (kind % 8 < CHANGES_OF_EIGHT) {
                change(below(DOCUMENTS));
            } else {
                search();
            }
        }

        private int below(int bound) {
            random = Mix.steps(random, 1);
            return (int) ((random >>> 17) % bound);
        }

        /** Low numbers often, as words of a language are. */
        private String word() {
            return "w" + (int) (((long) below(VOCABULARY) * below(VOCABULARY)) / VOCABULARY);
        }

        private void change(int id) throws IOException {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < WORDS; i++) {
                text.append(word()).append(' ');
            }
            Document document = new Document();
            document.add(new StringField("id", String.valueOf(id), Field.Store.YES));
            document.add(new TextField("text", text.toString(), Field.Store.NO));
            writer.updateDocument(new Term("id", String.valueOf(id)), document);
        }

        private void search() throws IOException {
            BooleanQuery query = new BooleanQuery.Builder()
                    .add(new TermQuery(new Term("text", word())), BooleanClause.Occur.SHOULD)
                    .add(new TermQuery(new Term("text", word())), BooleanClause.Occur.SHOULD)
                    .build();
            IndexSearcher searcher = searchers.acquire();
            try {
                searcher.search(query, 10);
            } finally {
                searchers.release(searcher);
            }
        }
    }
}
