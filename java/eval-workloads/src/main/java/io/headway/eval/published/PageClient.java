package io.headway.eval.published;

import io.headway.eval.Mix;
import io.headway.eval.Work;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** Asks for pages on a connection that it keeps; low numbers more often than high ones. */
final class PageClient implements Work.Operation {
    static final int PAGES = 2_000;
    private static final byte[] END_OF_HEAD = "\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

    private final InputStream input;
    private final OutputStream output;
    private long random;

    PageClient(long seed, int port) throws IOException {
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
