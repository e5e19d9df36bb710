package io.headway.causes;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import org.apache.catalina.Context;
import org.apache.catalina.loader.ParallelWebappClassLoader;
import org.apache.catalina.loader.WebappLoader;
import org.apache.catalina.startup.Tomcat;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.store.FilterDirectory;
import org.apache.lucene.store.IOContext;
import org.apache.lucene.store.IndexOutput;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.AbstractHandler;

/** Servers in this process. */
final class Servers {
    private Servers() {}

    static List<Cause> causes() {
        return List.of(
                Cause.of("jetty-blocking-write", Servers::jetty),
                Cause.of("tomcat-connections", Servers::tomcatConnections),
                Cause.of("tomcat-class-loading", Servers::tomcatClasses),
                Cause.of("zookeeper-sync", Servers::zookeeper),
                Cause.of("lucene-stall", Servers::luceneStall),
                Cause.of("lucene-commit", Servers::luceneCommit));
    }

    /** A page of 20 MB, and clients that read it slowly. */
    private static Cause.Task jetty() throws Exception {
        Server server = new Server(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        server.setHandler(new AbstractHandler() {
            @Override
            public void handle(String target, Request base, HttpServletRequest request, HttpServletResponse response)
                    throws IOException {
                base.setHandled(true);
                byte[] part = new byte[1 << 20];
                for (int i = 0; i < 20; i++) {
                    response.getOutputStream().write(part);
                }
            }
        });
        server.start();
        int port = ((ServerConnector) server.getConnectors()[0]).getLocalPort();
        return worker -> get(port, 5);
    }

    /** Reads a page, and pauses after each part. */
    private static void get(int port, int pause) throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            String request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
            socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
            InputStream in = socket.getInputStream();
            byte[] part = new byte[100_000];
            while (in.read(part) >= 0) {
                Slow.pause(pause);
            }
        }
    }

    private static Tomcat tomcat() throws IOException {
        java.util.logging.Logger.getLogger("org.apache").setLevel(java.util.logging.Level.OFF);
        Path base = Scratch.folder();
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(base.toString());
        tomcat.setPort(0);
        return tomcat;
    }

    /** Two connections, and requests that take a while. */
    private static Cause.Task tomcatConnections() throws Exception {
        Tomcat tomcat = tomcat();
        tomcat.getConnector().setProperty("maxConnections", "2");
        Context context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "slow", new HttpServlet() {
            private static final long serialVersionUID = 1;

            @Override
            protected void doGet(HttpServletRequest request, HttpServletResponse response) {
                Slow.pause(10);
            }
        });
        context.addServletMappingDecoded("/", "slow");
        tomcat.start();
        int port = tomcat.getConnector().getLocalPort();
        return worker -> get(port, 0);
    }

    /** A web application asks for a class that it does not have. */
    private static Cause.Task tomcatClasses() throws Exception {
        Tomcat tomcat = tomcat();
        Context context = tomcat.addContext("", null);
        WebappLoader loader = new WebappLoader();
        loader.setLoaderClass(ParallelWebappClassLoader.class.getName());
        context.setLoader(loader);
        tomcat.start();
        ClassLoader classes = context.getLoader().getClassLoader();
        return worker -> {
            try {
                Class.forName("app.Missing", false, classes);
            } catch (ClassNotFoundException expected) {
                // It is asked for each time.
            }
        };
    }

    private static Cause.Task zookeeper() throws Exception {
        Path folder = Scratch.folder();
        ZooKeeperServer server = new ZooKeeperServer(folder.toFile(), folder.toFile(), 2000);
        NIOServerCnxnFactory connections = new NIOServerCnxnFactory();
        connections.configure(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 50);
        connections.startup(server);
        ZooKeeper client = new ZooKeeper("127.0.0.1:" + connections.getLocalPort(), 10_000, event -> {});
        return worker -> client.setData("/", new byte[100], -1);
    }

    /** A directory on a slow disk. */
    private static final class SlowDirectory extends FilterDirectory {
        SlowDirectory() {
            super(new ByteBuffersDirectory());
        }

        @Override
        public IndexOutput createOutput(String name, IOContext context) throws IOException {
            Slow.pause(5);
            return super.createOutput(name, context);
        }

        @Override
        public void sync(Collection<String> names) throws IOException {
            Slow.pause(20);
            super.sync(names);
        }
    }

    private static IndexWriter lucene() throws IOException {
        IndexWriterConfig config = new IndexWriterConfig(new StandardAnalyzer());
        config.setRAMBufferSizeMB(0.1);
        return new IndexWriter(new SlowDirectory(), config);
    }

    private static Document document() {
        Document document = new Document();
        for (int i = 0; i < 20; i++) {
            document.add(new org.apache.lucene.document.StringField(
                    "field", java.util.UUID.randomUUID().toString(), Field.Store.NO));
        }
        document.add(new StoredField("body", new byte[100]));
        return document;
    }

    private static Cause.Task luceneStall() throws IOException {
        IndexWriter writer = lucene();
        return worker -> writer.addDocument(document());
    }

    private static Cause.Task luceneCommit() throws IOException {
        IndexWriter writer = lucene();
        return worker -> {
            writer.addDocument(document());
            writer.commit();
        };
    }
}
