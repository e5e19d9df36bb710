package io.headway.eval.published;

import io.headway.eval.Mix;
import io.headway.eval.Work;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/** Jetty, and clients on kept connections; the handler looks into one small cache behind a monitor. */
public final class JettyServer implements Work {
    private static final int PAGES = 2_000;
    private static final int CACHED = 500;
    private static final int PAGE_STEPS = 20_000;
    private static final byte[] END_OF_HEAD = "\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

    private final ServerConnector connector;

    /** Starts the server on a free port of the loopback address. */
    public JettyServer() throws Exception {
        Server server = new Server(new QueuedThreadPool(16, 16));
        connector = new ServerConnector(server, 1, 1);
        connector.setHost(InetAddress.getLoopbackAddress().getHostAddress());
        server.addConnector(connector);
        server.setHandler(new Pages());
        server.start();
    }

    @Override
    public Operation operation(int thread, int threads) throws IOException {
        return new Client(thread + 1L, connector.getLocalPort());
    }

    @Override
    public boolean hasLatency() {
        return true;
    }

    /** Makes pages, and keeps those asked for last. */
    private static final class Pages extends Handler.Abstract {
        private final Map<String, byte[]> cache = new LinkedHashMap<>(CACHED, 0.75f, true) {
            private static final long serialVersionUID = 1;

            @Override
            protected boolean removeEldestEntry(Map.Entry<String, byte[]> eldest) {
                return size() > CACHED;
            }
        };

        @Override
        public boolean handle(Request request, Response response, Callback callback) {
            byte[] page = page(request.getHttpURI().getPath());
            response.getHeaders().put(HttpHeader.CONTENT_LENGTH, page.length);
            response.write(true, ByteBuffer.wrap(page), callback);
            return true;
        }

        private byte[] page(String path) {
            synchronized (cache) {
                return cache.computeIfAbsent(path, Pages::make);
            }
        }

        private static byte[] make(String path) {
            long state = Mix.steps(path.hashCode() | 1, PAGE_STEPS);
            return (path + " " + state + " ".repeat(1_000)).getBytes(StandardCharsets.US_ASCII);
        }
    }

    private static final class Client implements Operation {
        private final InputStream input;
        private final OutputStream output;
        private long random;

        Client(long seed, int port) throws IOException {
            Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
            socket.setTcpNoDelay(true);
            input = new BufferedInputStream(socket.getInputStream());
            output = socket.getOutputStream();
            random = Mix.steps(seed, 7);
        }

        @Override
        public void once() throws IOException {
            random = Mix.steps(random, 1);
            long page = (random >>> 33) % PAGES * ((random >>> 3) % PAGES) / PAGES;
            output.write(("GET /" + page + " HTTP/1.1\r\nHost: localhost\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
            int length = contentLength(head());
            if (input.readNBytes(length).length < length) {
                throw new IOException("the server closed a connection");
            }
        }

        private String head() throws IOException {
            StringBuilder head = new StringBuilder();
            int matched = 0;
            while (matched < END_OF_HEAD.length) {
                int next = input.read();
                if (next < 0) {
                    throw new IOException("the server closed a connection");
                }
                head.append((char) next);
                matched = next == END_OF_HEAD[matched] ? matched + 1 : next == END_OF_HEAD[0] ? 1 : 0;
            }
            return head.toString();
        }

        private static int contentLength(String head) throws IOException {
            for (String line : head.split("\r\n")) {
                if (line.regionMatches(true, 0, "Content-Length:", 0, 15)) {
                    return Integer.parseInt(line.substring(15).strip());
                }
            }
            throw new IOException("an answer without length: " + head);
        }
    }
}
