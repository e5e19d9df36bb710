package io.headway.eval.published;

import io.headway.eval.Work;
import java.io.StringReader;
import java.io.StringWriter;
import javax.xml.transform.Templates;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.stream.StreamResult;
import javax.xml.transform.stream.StreamSource;

/** Xalan: all threads transform documents of their own with one compiled style sheet. */
public final class XalanTransform implements Work {
    private static final int ITEMS = 60;
    private static final String SHEET = """
            <xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
              <xsl:output method="html"/>
              <xsl:key name="kind" match="item" use="@kind"/>
              <xsl:template match="/order">
                <html><body><table>
                  <xsl:for-each select="item"><xsl:sort select="@price" data-type="number"/>
                    <tr><td><xsl:value-of select="concat(@name, ' x ', @count)"/></td>
                      <td><xsl:value-of select="format-number(@price * @count, '#,##0.00')"/></td>
                      <td><xsl:value-of select="count(key('kind', @kind))"/></td></tr>
                  </xsl:for-each>
                </table><p><xsl:value-of select="sum(item/@price)"/></p></body></html>
              </xsl:template>
            </xsl:stylesheet>
            """;

    private final Templates sheet;

    /** Compiles the style sheet. */
    public XalanTransform() throws Exception {
        TransformerFactory factory =
                TransformerFactory.newInstance("org.apache.xalan.processor.TransformerFactoryImpl", null);
        sheet = factory.newTemplates(new StreamSource(new StringReader(SHEET)));
    }

    @Override
    public Operation operation(int thread, int threads) {
        String document = document(thread);
        return () -> {
            StringWriter made = new StringWriter();
            sheet.newTransformer().transform(
                    new StreamSource(new StringReader(document)), new StreamResult(made));
            if (made.getBuffer().indexOf("<tr>") < 0) {
                throw new IllegalStateException("nothing was transformed: " + made);
            }
        };
    }

    private static String document(int seed) {
        StringBuilder text = new StringBuilder("<order>");
        for (int i = 0; i < ITEMS; i++) {
            int price = (i * 7919 + seed * 31) % 997;
            text.append("<item name=\"part ").append(i).append("\" kind=\"").append(i % 7).append("\" price=\"")
                    .append(price).append("\" count=\"").append(1 + i % 5).append("\"/>");
        }
        return text.append("</order>").toString();
    }
}
