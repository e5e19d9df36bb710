package io.headway.workloads.causal;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.Selector;
import java.nio.channels.WritableByteChannel;
import java.util.concurrent.atomic.AtomicInteger;

/** How two threads hand something to each other: the one that gets it was blocked until then. */
interface Exchange {
    /** What a pipe makes room for at a time. */
    int PAGE = 4096;

    /** Hands over to the thread of this number, 0 or 1. */
    void hand(int to) throws IOException;

    /** Blocks until the thread of this number is handed something. */
    void await(int number) throws IOException;

    /** Two pipes of java.nio. */
    static Exchange pipes() throws IOException {
        Pipe[] pipes = {Pipe.open(), Pipe.open()};
        return new Exchange() {
            @Override
            public void hand(int to) throws IOException {
                write(pipes[to].sink());
            }

            @Override
            public void await(int number) throws IOException {
                read(pipes[number].source());
            }
        };
    }

    /** Two pipes that are full: who is handed something waited for room, which a read makes. */
    static Exchange fullPipes() throws IOException {
        Pipe[] pipes = {Pipe.open(), Pipe.open()};
        for (Pipe pipe : pipes) {
            pipe.sink().configureBlocking(false);
            while (pipe.sink().write(ByteBuffer.allocate(PAGE)) > 0) {}
            pipe.sink().configureBlocking(true);
        }
        return new Exchange() {
            @Override
            public void hand(int to) throws IOException {
                ByteBuffer page = ByteBuffer.allocate(PAGE);
                while (page.hasRemaining()) {
                    pipes[to].source().read(page);
                }
            }

            @Override
            public void await(int number) throws IOException {
                pipes[number].sink().write(ByteBuffer.allocate(PAGE));
            }
        };
    }

    /** Two sockets: who is handed something waited for a connection. */
    static Exchange connections() throws IOException {
        InetAddress here = InetAddress.getLoopbackAddress();
        ServerSocket[] servers = {new ServerSocket(0, 1, here), new ServerSocket(0, 1, here)};
        return new Exchange() {
            @Override
            public void hand(int to) throws IOException {
                new Socket(here, servers[to].getLocalPort()).close();
            }

            @Override
            public void await(int number) throws IOException {
                servers[number].accept().close();
            }
        };
    }

    /** A connection to the same process, by streams. */
    static Exchange sockets() throws IOException {
        Socket[] ends = new Socket[2];
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            ends[0] = new Socket(server.getInetAddress(), server.getLocalPort());
            ends[1] = server.accept();
        }
        for (Socket end : ends) {
            end.setTcpNoDelay(true);
        }
        return new Exchange() {
            @Override
            public void hand(int to) throws IOException {
                ends[1 - to].getOutputStream().write(1);
            }

            @Override
            public void await(int number) throws IOException {
                if (ends[number].getInputStream().read() < 0) {
                    throw new EOFException("the other end is closed");
                }
            }
        };
    }

    /** {@code Selector.wakeup} of selectors that have no channel. */
    static Exchange selectors() throws IOException {
        Selector[] selectors = {Selector.open(), Selector.open()};
        AtomicInteger turn = new AtomicInteger(-1);
        return new Exchange() {
            @Override
            public void hand(int to) {
                turn.set(to);
                selectors[to].wakeup();
            }

            @Override
            public void await(int number) throws IOException {
                while (!turn.compareAndSet(number, -1)) {
                    selectors[number].select();
                }
            }
        };
    }

    /** A process that answers each byte, after a while, with one. */
    static Exchange remote(int port) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        return new Exchange() {
            @Override
            public void hand(int to) throws IOException {
                socket.getOutputStream().write(1);
            }

            @Override
            public void await(int number) throws IOException {
                if (socket.getInputStream().read() < 0) {
                    throw new EOFException("the other process is gone");
                }
            }
        };
    }

    private static void write(WritableByteChannel channel) throws IOException {
        ByteBuffer one = ByteBuffer.allocate(1);
        while (one.hasRemaining()) {
            channel.write(one);
        }
    }

    private static void read(ReadableByteChannel channel) throws IOException {
        if (channel.read(ByteBuffer.allocate(1)) < 0) {
            throw new EOFException("the other end is closed");
        }
    }
}
