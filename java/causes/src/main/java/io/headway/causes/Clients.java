package io.headway.causes;

import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import com.sun.net.httpserver.HttpServer;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.protocol.ProtocolVersion;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Hashtable;
import java.util.List;
import java.util.concurrent.Executors;
import javax.naming.Context;
import javax.naming.directory.InitialDirContext;
import okhttp3.Call;
import okhttp3.Callback;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.Response;
import okhttp3.ResponseBody;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManagerBuilder;
import org.apache.http.client.methods.HttpGet;
import org.apache.http.impl.client.CloseableHttpClient;
import org.apache.http.impl.client.HttpClients;
import org.apache.http.util.EntityUtils;
import org.bson.BsonDocument;
import org.bson.RawBsonDocument;
import org.bson.codecs.BsonDocumentCodec;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisPoolConfig;

/** Clients of servers that are slow. */
final class Clients {
    private Clients() {}

    static List<Cause> causes() {
        return List.of(
                Cause.of("jedis-pool", Clients::jedis),
                Cause.of("lettuce-sync", Clients::lettuce),
                Cause.of("httpclient4-pool", Clients::http4),
                Cause.of("httpclient5-pool", Clients::http5),
                Cause.of("okhttp-dispatcher", Clients::okhttp),
                Cause.of("mongo-pool", Clients::mongo),
                Cause.of("ldap-pool", Clients::ldap));
    }

    /** As much of Redis as there has to be: GET takes five milliseconds and finds nothing. */
    private static int redis() throws IOException {
        return Peer.listen((in, out) -> {
            while (true) {
                int words = Integer.parseInt(line(in).substring(1));
                String command = "";
                for (int i = 0; i < words; i++) {
                    byte[] word = new byte[Integer.parseInt(line(in).substring(1))];
                    in.readFully(word);
                    line(in);
                    command = i == 0 ? new String(word, StandardCharsets.US_ASCII) : command;
                }
                if (command.equals("GET")) {
                    Slow.pause(5);
                }
                out.writeBytes(
                        switch (command) {
                            case "GET" -> "$-1\r\n";
                            case "PING" -> "+PONG\r\n";
                            default -> "+OK\r\n";
                        });
                out.flush();
            }
        });
    }

    private static String line(DataInputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        int next;
        while ((next = in.readUnsignedByte()) != '\n') {
            if (next != '\r') {
                line.append((char) next);
            }
        }
        return line.toString();
    }

    private static Cause.Task jedis() throws IOException {
        JedisPoolConfig config = new JedisPoolConfig();
        config.setMaxTotal(2);
        JedisPool pool = new JedisPool(config, "127.0.0.1", redis());
        return worker -> {
            try (Jedis jedis = pool.getResource()) {
                jedis.get("key");
            }
        };
    }

    private static Cause.Task lettuce() throws IOException {
        RedisClient client = RedisClient.create("redis://127.0.0.1:" + redis());
        client.setOptions(
                ClientOptions.builder().protocolVersion(ProtocolVersion.RESP2).build());
        var commands = client.connect().sync();
        return worker -> commands.get("key");
    }

    /** A server whose answers take five milliseconds. Its port. */
    private static int http() throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 50);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.createContext("/", exchange -> {
            Slow.pause(5);
            exchange.sendResponseHeaders(204, -1);
            exchange.close();
        });
        server.start();
        return server.getAddress().getPort();
    }

    private static Cause.Task http4() throws IOException {
        String url = "http://127.0.0.1:" + http() + "/";
        CloseableHttpClient client = HttpClients.createDefault();
        return worker -> {
            try (var answer = client.execute(new HttpGet(url))) {
                EntityUtils.consume(answer.getEntity());
            }
        };
    }

    private static Cause.Task http5() throws IOException {
        String url = "http://127.0.0.1:" + http() + "/";
        var connections = PoolingHttpClientConnectionManagerBuilder.create()
                .setMaxConnPerRoute(2)
                .build();
        var client = org.apache.hc.client5.http.impl.classic.HttpClients.custom()
                .setConnectionManager(connections)
                .build();
        return worker -> client.execute(
                new org.apache.hc.client5.http.classic.methods.HttpGet(url), answer -> answer.getCode());
    }

    /** Thousands of calls are queued for one host, and more are added. */
    private static Cause.Task okhttp() {
        OkHttpClient client = new OkHttpClient.Builder()
                .addInterceptor(chain -> {
                    Slow.pause(50);
                    return new Response.Builder()
                            .request(chain.request())
                            .protocol(Protocol.HTTP_1_1)
                            .code(200)
                            .message("OK")
                            .body(ResponseBody.create(new byte[0], null))
                            .build();
                })
                .build();
        Request request = new Request.Builder().url("http://shop.test/").build();
        Callback ignored = new Callback() {
            @Override
            public void onFailure(Call call, IOException problem) {}

            @Override
            public void onResponse(Call call, Response answer) {
                answer.close();
            }
        };
        for (int i = 0; i < 3000; i++) {
            client.newCall(request).enqueue(ignored);
        }
        return worker -> client.newCall(request).enqueue(ignored);
    }

    /** As much of MongoDB as there has to be: each command succeeds, a ping slowly. */
    private static int mongoServer() throws IOException {
        return Peer.listen((in, out) -> {
            while (true) {
                int length = Integer.reverseBytes(in.readInt());
                byte[] message = new byte[length - 4];
                in.readFully(message);
                ByteBuffer header = ByteBuffer.wrap(message).order(ByteOrder.LITTLE_ENDIAN);
                int request = header.getInt();
                header.getInt();
                boolean isOld = header.getInt() == 2004;
                // A number of 32 bits with this name.
                if (new String(message, StandardCharsets.ISO_8859_1).contains("\20ping\0")) {
                    Slow.pause(5);
                }
                byte[] answer = bson("{ok: 1.0, helloOk: true, ismaster: true, isWritablePrimary: true,"
                        + " maxBsonObjectSize: 16777216, maxMessageSizeBytes: 48000000, maxWriteBatchSize: 100000,"
                        + " minWireVersion: 0, maxWireVersion: 21, readOnly: false}");
                ByteBuffer reply = ByteBuffer.allocate(100 + answer.length).order(ByteOrder.LITTLE_ENDIAN);
                reply.putInt(0).putInt(1).putInt(request).putInt(isOld ? 1 : 2013);
                if (isOld) {
                    reply.putInt(8).putLong(0).putInt(0).putInt(1);
                } else {
                    reply.putInt(0).put((byte) 0);
                }
                reply.put(answer).putInt(0, reply.position());
                out.write(reply.array(), 0, reply.position());
                out.flush();
            }
        });
    }

    private static byte[] bson(String json) {
        var bytes = new RawBsonDocument(BsonDocument.parse(json), new BsonDocumentCodec()).getByteBuffer();
        byte[] copy = new byte[bytes.remaining()];
        bytes.get(copy);
        return copy;
    }

    private static Cause.Task mongo() throws IOException {
        MongoClient client = MongoClients.create("mongodb://127.0.0.1:" + mongoServer() + "/?maxPoolSize=2");
        var database = client.getDatabase("shop");
        return worker -> database.runCommand(new BsonDocument("ping", new org.bson.BsonInt32(1)));
    }

    /** As much of LDAP as there has to be: anybody may bind. Messages are shorter than 128 bytes. */
    private static int ldapServer() throws IOException {
        return Peer.listen((in, out) -> {
            while (true) {
                in.readUnsignedByte();
                byte[] message = new byte[in.readUnsignedByte()];
                in.readFully(message);
                // 2 1 ID, then what is asked: a bind has the tag 0x60.
                if (message[3] == 0x60) {
                    out.write(new byte[] {0x30, 12, 2, 1, message[2], 0x61, 7, 10, 1, 0, 4, 0, 4, 0});
                    out.flush();
                }
            }
        });
    }

    private static Cause.Task ldap() throws IOException {
        System.setProperty("com.sun.jndi.ldap.connect.pool.maxsize", "2");
        System.setProperty("com.sun.jndi.ldap.connect.pool.authentication", "none simple");
        Hashtable<String, String> settings = new Hashtable<>();
        settings.put(Context.INITIAL_CONTEXT_FACTORY, "com.sun.jndi.ldap.LdapCtxFactory");
        settings.put(Context.PROVIDER_URL, "ldap://127.0.0.1:" + ldapServer());
        settings.put("com.sun.jndi.ldap.connect.pool", "true");
        return worker -> {
            InitialDirContext context = new InitialDirContext(settings);
            Slow.pause(5);
            context.close();
        };
    }
}
