package io.headway.causes;

import java.beans.Introspector;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.ref.Cleaner;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.SecureRandom;
import java.security.Security;
import java.util.List;
import java.util.Random;
import java.util.TimeZone;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import javax.net.ssl.SSLContext;
import javax.xml.parsers.DocumentBuilderFactory;

/** What the platform does under locks that a program does not see. */
final class Platform {
    private Platform() {}

    static List<Cause> causes() {
        return List.of(
                Cause.of("class-loading", Platform::classes),
                Cause.of("zip-file", Platform::zip),
                Cause.of("uuid-random", () -> worker -> UUID.randomUUID()),
                Cause.of("secure-random", Platform::secureRandom),
                Cause.of("ssl-session-cache", Platform::sessions),
                Cause.of("ssl-default-context", Platform::defaultContext).cold(),
                Cause.of("host-names", Platform::hosts),
                Cause.of("url-hash", Platform::urls),
                Cause.of("time-zone", () -> worker -> TimeZone.getTimeZone("GMT+" + worker)).until(17),
                Cause.of("xml-factories", () -> worker -> DocumentBuilderFactory.newInstance()),
                Cause.of("cleaners", Platform::cleaners).until(23),
                Cause.of("finalizers", () -> worker -> new Finalizable()).byChance(),
                Cause.of("thread-group", Platform::threads).until(18),
                Cause.of("introspector", Platform::beans),
                Cause.of("file-channel", Platform::file),
                Cause.of("socket-channel", Platform::socket),
                Cause.of("buffered-stream", Platform::stream),
                Cause.of("shutdown", Platform::shutdown).cold());
    }

    private static Cause.Task classes() {
        ClassLoader loader = Platform.class.getClassLoader();
        return worker -> {
            try {
                Class.forName("io.headway.causes.Missing", false, loader);
            } catch (ClassNotFoundException expected) {
                // It is asked for each time.
            }
        };
    }

    private static Cause.Task zip() throws IOException {
        Path path = Files.createTempFile("headway-causes", ".zip");
        byte[] noise = new byte[1 << 20];
        new Random(1).nextBytes(noise);
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(path))) {
            zip.putNextEntry(new ZipEntry("noise"));
            zip.write(noise);
        }
        ZipFile zip = new ZipFile(path.toFile());
        Files.delete(path);
        return worker -> {
            try (InputStream in = zip.getInputStream(zip.getEntry("noise"))) {
                in.readAllBytes();
            }
        };
    }

    private static Cause.Task secureRandom() {
        SecureRandom random = new SecureRandom();
        return worker -> random.nextBytes(new byte[256]);
    }

    /** The sessions of servers are looked through while others ask for theirs. */
    private static Cause.Task sessions() throws Exception {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, null, null);
        var sessions = context.getServerSessionContext();
        return worker -> {
            sessions.getSession(new byte[] {1, 2, 3});
            sessions.getIds();
        };
    }

    private static Cause.Task defaultContext() {
        return worker -> {
            SSLContext.getDefault();
            Slow.pause(20);
        };
    }

    /** A file with so many hosts that looking one up takes long. */
    private static void useSlowHosts() throws IOException {
        Path file = Files.createTempFile("headway-causes", ".hosts");
        StringBuilder hosts = new StringBuilder();
        for (int i = 0; i < 20_000; i++) {
            hosts.append("127.0.0.1 other-").append(i).append('\n');
        }
        Files.writeString(file, hosts.append("127.0.0.1 shop.test\n"));
        file.toFile().deleteOnExit();
        System.setProperty("jdk.net.hosts.file", file.toString());
        Security.setProperty("networkaddress.cache.ttl", "0");
        Security.setProperty("networkaddress.cache.negative.ttl", "0");
    }

    private static Cause.Task hosts() throws IOException {
        useSlowHosts();
        return worker -> InetAddress.getByName("shop.test");
    }

    private static Cause.Task urls() throws IOException {
        useSlowHosts();
        return worker -> new URL("http://shop.test/").hashCode();
    }

    private static Cause.Task cleaners() {
        Cleaner cleaner = Cleaner.create();
        Runnable nothing = () -> {};
        return worker -> cleaner.register(new Object(), nothing).clean();
    }

    /** What has to be finalized. */
    @SuppressWarnings({"deprecation", "removal"})
    private static final class Finalizable {
        private int finalized;

        @Override
        protected void finalize() {
            finalized++;
        }
    }

    /** Threads begin and end, and one lists their group again and again on a slow device. */
    private static Cause.Task threads() {
        System.setOut(new PrintStream(new Slow.Output(), true, StandardCharsets.UTF_8));
        ThreadGroup group = new ThreadGroup("group");
        return worker -> {
            if (worker == 0) {
                group.list();
            } else {
                new Thread(group, () -> Slow.pause(1), "short").start();
            }
        };
    }

    private static Cause.Task beans() {
        Class<?>[] types = {java.util.Calendar.class, Thread.class, java.net.Socket.class, Class.class};
        AtomicInteger next = new AtomicInteger();
        return worker -> {
            Introspector.flushCaches();
            Introspector.getBeanInfo(types[next.getAndIncrement() % types.length]);
        };
    }

    private static Cause.Task file() throws IOException {
        Path path = Files.createTempFile("headway-causes", ".data");
        Files.write(path, new byte[16 << 20]);
        FileChannel channel = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.DELETE_ON_CLOSE);
        return worker -> {
            ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 20);
            if (channel.read(buffer) < 0) {
                channel.position(0);
            }
        };
    }

    /** A peer that reads slowly. */
    private static Cause.Task socket() throws IOException {
        int port = Peer.listen((in, out) -> {
            byte[] buffer = new byte[64_000];
            while (in.read(buffer) >= 0) {
                Slow.pause(1);
            }
        });
        SocketChannel channel = SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        return worker -> channel.write(ByteBuffer.allocate(500_000));
    }

    private static Cause.Task stream() {
        OutputStream shared = new BufferedOutputStream(new Slow.Output(), 16);
        return worker -> shared.write(new byte[64]);
    }

    /** All threads end the program, and a hook takes a while. */
    private static Cause.Task shutdown() {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> Slow.pause(500)));
        return worker -> {
            Slow.pause(100);
            Runtime.getRuntime().exit(0);
        };
    }
}
