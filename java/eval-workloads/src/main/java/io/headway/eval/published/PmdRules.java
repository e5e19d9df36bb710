package io.headway.eval.published;

import io.headway.eval.Work;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import net.sourceforge.pmd.PMDConfiguration;
import net.sourceforge.pmd.PmdAnalysis;
import net.sourceforge.pmd.lang.LanguageRegistry;
import net.sourceforge.pmd.lang.document.FileId;

/** PMD's rules of good practice over Apache Commons Lang, some files at a time. */
public final class PmdRules implements Work {
    private static final int FILES_AT_A_TIME = 2;
    private static final String RULES = "category/java/bestpractices.xml";

    private final List<Map.Entry<String, String>> files;

    /** Reads the sources. */
    public PmdRules() throws Exception {
        files = new ArrayList<>(Sources.read().entrySet());
    }

    @Override
    public Operation operation(int thread, int threads) {
        int[] next = {thread * files.size() / threads};
        return () -> {
            try (PmdAnalysis analysis = PmdAnalysis.create(configuration())) {
                for (int i = 0; i < FILES_AT_A_TIME; i++) {
                    Map.Entry<String, String> file = files.get(next[0]++ % files.size());
                    analysis.files().addSourceFile(FileId.fromPathLikeString(file.getKey()), file.getValue());
                }
                analysis.performAnalysisAndCollectReport();
            }
        };
    }

    private static PMDConfiguration configuration() {
        PMDConfiguration configuration = new PMDConfiguration();
        configuration.setThreads(0); // the thread that asks
        configuration.setIgnoreIncrementalAnalysis(true);
        configuration.setDefaultLanguageVersion(LanguageRegistry.PMD.getLanguageVersionById("java", "17"));
        configuration.addRuleSet(RULES);
        return configuration;
    }
}
