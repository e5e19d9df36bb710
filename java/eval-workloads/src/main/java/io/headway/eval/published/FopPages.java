package io.headway.eval.published;

import io.headway.eval.Work;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.StringReader;
import java.util.logging.Level;
import java.util.logging.Logger;
import javax.xml.transform.Transformer;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.sax.SAXResult;
import javax.xml.transform.stream.StreamSource;
import org.apache.fop.apps.Fop;
import org.apache.fop.apps.FopFactory;
import org.apache.fop.apps.MimeConstants;

/** Apache FOP: threads set documents of some pages as PDF, with one factory and its font caches for all. */
public final class FopPages implements Work {
    private static final int PARAGRAPHS = 12;
    private static final String TEXT = "The quick brown fox jumps over the lazy dog, and thinks nothing of it. ".repeat(4);
    /** Kept, so that its level stays. */
    private static final Logger LOGGER = Logger.getLogger("org.apache.fop");

    private final FopFactory factory;
    private final TransformerFactory transformers = TransformerFactory.newInstance();

    /** Makes the factory. */
    public FopPages() {
        LOGGER.setLevel(Level.SEVERE);
        factory = FopFactory.newInstance(new File(".").toURI());
    }

    @Override
    public Operation operation(int thread, int threads) throws Exception {
        String document = document(thread);
        Transformer transformer = transformers.newTransformer();
        return () -> {
            ByteArrayOutputStream made = new ByteArrayOutputStream();
            Fop fop = factory.newFop(MimeConstants.MIME_PDF, made);
            transformer.transform(new StreamSource(new StringReader(document)), new SAXResult(fop.getDefaultHandler()));
            if (made.size() < 1_000) {
                throw new IllegalStateException("a document of " + made.size() + " bytes");
            }
        };
    }

    private static String document(int seed) {
        StringBuilder text = new StringBuilder("""
                <fo:root xmlns:fo="http://www.w3.org/1999/XSL/Format"><fo:layout-master-set>
                <fo:simple-page-master master-name="a" page-height="15cm" page-width="10cm" margin="1cm">
                <fo:region-body/></fo:simple-page-master></fo:layout-master-set>
                <fo:page-sequence master-reference="a"><fo:flow flow-name="xsl-region-body">
                """);
        for (int i = 0; i < PARAGRAPHS; i++) {
            text.append("<fo:block text-align=\"justify\" font-family=\"Times\" space-after=\"3mm\">").append(seed + i)
                    .append(". ").append(TEXT).append("</fo:block>");
        }
        return text.append("</fo:flow></fo:page-sequence></fo:root>").toString();
    }
}
