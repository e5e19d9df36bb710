package io.headway.eval.published;

import io.headway.eval.Work;
import java.io.IOException;
import java.io.OutputStream;
import java.io.Writer;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;

/**
 * The JDK's compiler, in this process, over Apache Commons Lang, file by file; what else a file needs comes
 * from the compiled library, and what is made is thrown away. A unit of work is a character of source text.
 */
public final class Javac implements Work {
    private static final Writer SILENCE = Writer.nullWriter();

    private final JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    private final List<Text> files = new ArrayList<>();
    private final Path library;

    /** Reads the sources. */
    public Javac() throws Exception {
        if (compiler == null) {
            throw new IOException("this Java has no compiler");
        }
        library = Sources.classes();
        for (Map.Entry<String, String> file : Sources.read().entrySet()) {
            files.add(new Text(file.getKey(), file.getValue()));
        }
    }

    @Override
    public Operation operation(int thread, int threads) throws IOException {
        StandardJavaFileManager manager = compiler.getStandardFileManager(d -> {}, null, null);
        manager.setLocationFromPaths(StandardLocation.CLASS_PATH, List.of(library));
        return new Compile(new Discarding(manager), thread * files.size() / threads);
    }

    private final class Compile implements Operation {
        private final JavaFileManager manager;
        private int next;
        private long units;

        Compile(JavaFileManager manager, int first) {
            this.manager = manager;
            next = first;
        }

        @Override
        public void once() {
            Text file = files.get(next++ % files.size());
            List<String> options = List.of("-proc:none", "-implicit:none", "-nowarn", "-Xlint:none");
            if (!compiler.getTask(SILENCE, manager, d -> {}, options, null, List.of(file)).call()) {
                throw new IllegalStateException(file.getName() + " does not compile");
            }
            units = file.text.length();
        }

        @Override
        public long units() {
            return units;
        }
    }

    private static final class Text extends SimpleJavaFileObject {
        private final String text;

        Text(String name, String text) {
            super(URI.create("text:///" + name), Kind.SOURCE);
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }

    /** Finds everything, keeps nothing. */
    private static final class Discarding extends ForwardingJavaFileManager<JavaFileManager> {
        Discarding(JavaFileManager manager) {
            super(manager);
        }

        @Override
        public JavaFileObject getJavaFileForOutput(
                Location location, String name, JavaFileObject.Kind kind, FileObject sibling) {
            return new SimpleJavaFileObject(URI.create("void:///" + name), kind) {
                @Override
                public OutputStream openOutputStream() {
                    return OutputStream.nullOutputStream();
                }
            };
        }
    }
}
