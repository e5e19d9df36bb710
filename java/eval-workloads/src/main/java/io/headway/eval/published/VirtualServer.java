package io.headway.eval.published;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.headway.eval.Mix;
import io.headway.eval.Work;
import io.headway.workloads.ThreadKind;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The JDK's own HTTP server with a virtual thread per request (21, 25), and clients on kept connections. Each
 * request takes one lock of few, briefly, and waits a moment, as for another service.
 */
public final class VirtualServer implements Work {
    private static final int LOCKS = 4;
    private static final int HOLD_STEPS = 2_000;
    private static final int PAGE_STEPS = 20_000;
    private static final long ELSEWHERE_MS = 1;

    private final HttpServer server;
    private final ReentrantLock[] locks = new ReentrantLock[LOCKS];
    private final AtomicLong state = new AtomicLong(1);

    /** Starts the server on a free port of the loopback address. */
    public VirtualServer() throws IOException {
        // Otherwise an answer's second packet waits for the acknowledgement of its first.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        for (int i = 0; i < LOCKS; i++) {
            locks[i] = new ReentrantLock();
        }
        ThreadFactory factory = ThreadKind.virtual().factory();
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(request -> factory.newThread(request).start());
        server.createContext("/", this::answer);
        server.start();
    }

    @Override
    public Operation operation(int thread, int threads) throws IOException {
        return new PageClient(thread + 1L, server.getAddress().getPort());
    }

    @Override
    public boolean hasLatency() {
        return true;
    }

    private void answer(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        ReentrantLock lock = locks[(path.hashCode() & Integer.MAX_VALUE) % LOCKS];
        lock.lock();
        try {
            state.set(Mix.steps(state.get(), HOLD_STEPS));
        } finally {
            lock.unlock();
        }
        try {
            Thread.sleep(ELSEWHERE_MS);
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
        byte[] page = (path + " " + Mix.steps(path.hashCode() | 1, PAGE_STEPS)).getBytes(StandardCharsets.US_ASCII);
        exchange.sendResponseHeaders(200, page.length);
        exchange.getResponseBody().write(page);
        exchange.close();
    }
}
