package io.headway.causes;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** The other end of connections on this machine: as much of a server as a client needs to begin and then wait. */
final class Peer {
    private Peer() {}

    /** Talks to one client until it leaves. */
    interface Conversation {
        /**
         * Does it.
         *
         * @param in what the client sends
         * @param out what it gets; to be flushed
         * @throws IOException the client left
         */
        void hold(DataInputStream in, DataOutputStream out) throws IOException;
    }

    /** Listens on the loopback address; each client has a thread. The port. */
    static int listen(Conversation conversation) throws IOException {
        ServerSocket listening = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
        daemon("peer-accept", () -> {
            while (true) {
                Socket client = listening.accept();
                client.setTcpNoDelay(true);
                daemon("peer", () -> {
                    try (client) {
                        conversation.hold(
                                new DataInputStream(new BufferedInputStream(client.getInputStream())),
                                new DataOutputStream(new BufferedOutputStream(client.getOutputStream())));
                    }
                });
            }
        });
        return listening.getLocalPort();
    }

    /** What a thread of a server does. */
    interface Work {
        /**
         * Does it.
         *
         * @throws Exception it is over
         */
        void run() throws Exception;
    }

    /** Starts a daemon that ends when its client leaves. */
    static void daemon(String name, Work work) {
        Thread thread = new Thread(
                () -> {
                    try {
                        work.run();
                    } catch (IOException left) {
                        // The program ends.
                    } catch (Exception problem) {
                        problem.printStackTrace();
                    }
                },
                name);
        thread.setDaemon(true);
        thread.start();
    }
}
