package io.headway.eval.published;

import io.headway.eval.Mix;
import io.headway.eval.Work;
import java.io.IOException;
import java.net.InetAddress;
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
    private static final int CACHED = 500;
    private static final int PAGE_STEPS = 20_000;

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
        return new PageClient(thread + 1L, connector.getLocalPort());
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
}
