package io.headway.eval.cassandra;

import com.datastax.driver.core.Cluster;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.apache.cassandra.service.CassandraDaemon;
import org.apache.cassandra.service.StorageService;

/**
 * A Cassandra node in this JVM: a cluster of one, reached on free ports of the loopback address, with its files in
 * a directory of its own, which goes when the JVM ends in order. The commit log is synced every ten seconds; small
 * memtables and segments make it flush and compact every some seconds, as a larger node does every some minutes.
 */
final class Node {
    private static final String SETTINGS = """
            cluster_name: eval
            partitioner: org.apache.cassandra.dht.Murmur3Partitioner
            endpoint_snitch: SimpleSnitch
            num_tokens: 1
            seed_provider:
              - class_name: org.apache.cassandra.locator.SimpleSeedProvider
                parameters: [{seeds: "%1$s"}]
            listen_address: %1$s
            rpc_address: %1$s
            storage_port: %2$d
            native_transport_port: %3$d
            commitlog_sync: periodic
            commitlog_sync_period: 10s
            commitlog_segment_size: 8MiB
            commitlog_total_space: 64MiB
            memtable_heap_space: 64MiB
            memtable_offheap_space: 64MiB
            file_cache_size: 64MiB
            data_file_directories: ["%4$s/data"]
            commitlog_directory: "%4$s/commitlog"
            saved_caches_directory: "%4$s/saved_caches"
            hints_directory: "%4$s/hints"
            cdc_raw_directory: "%4$s/cdc_raw"
            """;

    private final String host = InetAddress.getLoopbackAddress().getHostAddress();
    private final Path directory = Files.createTempDirectory("headway-eval-cassandra");
    private final int port;

    /** Starts it. */
    Node() throws IOException {
        List<Integer> ports = freePorts(2);
        port = ports.get(1);
        Path settings = directory.resolve("cassandra.yaml");
        Files.writeString(settings, SETTINGS.formatted(host, ports.get(0), port, directory));
        System.setProperty("cassandra.config", settings.toUri().toString());
        System.setProperty("cassandra-foreground", "yes"); // it would close the standard streams
        System.setProperty("cassandra.ring_delay_ms", "0"); // nobody else has to be waited for
        System.setProperty("cassandra.skip_wait_for_gossip_to_settle", "0");
        System.setProperty("cassandra.test.flush_local_schema_changes", "false"); // some seconds less to start
        try {
            new CassandraDaemon(true).activate();
        } catch (RuntimeException e) {
            remove();
            throw e;
        }
        StorageService.instance.addPostShutdownHook(this::remove);
    }

    /** How clients reach it; the work hears when the JVM is about to end. */
    Cluster cluster(Runnable atEnd) {
        Cluster cluster = Cluster.builder()
                .addContactPoint(host)
                .withPort(port)
                .withoutJMXReporting()
                .withoutMetrics()
                .build();
        StorageService.instance.addPreShutdownHook(() -> {
            atEnd.run();
            cluster.close();
        });
        return cluster;
    }

    private static List<Integer> freePorts(int count) throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            int port = socket.getLocalPort();
            return count == 1 ? List.of(port) : Stream.concat(freePorts(count - 1).stream(), Stream.of(port)).toList();
        }
    }

    /** The last of its threads may still write. What is left then is reported. */
    private void remove() {
        for (int attempts = 0; Files.exists(directory) && attempts < 10; attempts++) {
            try (Stream<Path> below = Files.walk(directory)) {
                below.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
            } catch (IOException | UncheckedIOException e) {
                continue; // something came or went meanwhile
            }
        }
        if (Files.exists(directory)) {
            System.err.println("headway-eval-cassandra: could not remove " + directory);
        }
    }
}
