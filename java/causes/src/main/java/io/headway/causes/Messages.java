package io.headway.causes;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.impl.AMQImpl;
import com.rabbitmq.client.impl.Frame;
import com.rabbitmq.client.impl.LongStringHelper;
import com.rabbitmq.client.impl.Method;
import jakarta.jms.Connection;
import jakarta.jms.DeliveryMode;
import jakarta.jms.JMSException;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.activemq.ActiveMQConnectionFactory;
import org.apache.activemq.broker.BrokerService;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.ProduceResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.MetadataRequest;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.RequestUtils;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Senders of messages, and brokers that are slow. */
final class Messages {
    private Messages() {}

    static List<Cause> causes() {
        return List.of(
                Cause.of("kafka-buffer", Messages::kafkaBuffer),
                Cause.of("kafka-send-wait", Messages::kafkaWait),
                Cause.of("kafka-accumulator", Messages::kafkaAccumulator),
                Cause.of("kafka-metadata", Messages::kafkaMetadata),
                Cause.of("activemq-mutex", Messages::activemqMutex),
                Cause.of("activemq-sync-send", Messages::activemqSync),
                Cause.of("rabbit-confirms", Messages::rabbitConfirms),
                Cause.of("rabbit-channel", Messages::rabbitChannel));
    }

    /** As much of a Kafka broker as there has to be; its answers take five milliseconds. */
    private static int kafka() throws IOException {
        int[] port = new int[1];
        port[0] = Peer.listen((in, out) -> {
            while (true) {
                byte[] bytes = new byte[in.readInt()];
                in.readFully(bytes);
                ByteBuffer buffer = ByteBuffer.wrap(bytes);
                RequestHeader header = RequestHeader.parse(buffer);
                AbstractRequest request =
                        AbstractRequest.parseRequest(header.apiKey(), header.apiVersion(), buffer).request;
                ApiMessage answer =
                        switch (header.apiKey()) {
                            case API_VERSIONS -> versions();
                            case METADATA -> Slow.after(5, metadata((MetadataRequest) request, port[0]));
                            case PRODUCE -> Slow.after(5, produced((ProduceRequest) request));
                            default -> throw new IOException("not known here: " + header.apiKey());
                        };
                var head = header.toResponseHeader();
                ByteBuffer reply =
                        RequestUtils.serialize(head.data(), head.headerVersion(), answer, header.apiVersion());
                out.writeInt(reply.remaining());
                out.write(reply.array(), reply.arrayOffset() + reply.position(), reply.remaining());
                out.flush();
            }
        });
        return port[0];
    }

    private static ApiVersionsResponseData versions() {
        var keys = new ApiVersionsResponseData.ApiVersionCollection();
        for (ApiKeys key : List.of(ApiKeys.API_VERSIONS, ApiKeys.METADATA, ApiKeys.PRODUCE)) {
            keys.add(new ApiVersionsResponseData.ApiVersion()
                    .setApiKey(key.id)
                    .setMinVersion(key.oldestVersion())
                    .setMaxVersion(key.latestVersion(false)));
        }
        return new ApiVersionsResponseData().setApiKeys(keys);
    }

    /** Each topic that is asked for exists and has one partition. */
    private static MetadataResponseData metadata(MetadataRequest request, int port) {
        MetadataResponseData answer = new MetadataResponseData().setControllerId(1).setClusterId("causes");
        answer.brokers()
                .add(new MetadataResponseData.MetadataResponseBroker()
                        .setNodeId(1)
                        .setHost("127.0.0.1")
                        .setPort(port));
        var topics = request.data().topics();
        for (var topic : topics == null ? List.<org.apache.kafka.common.message.MetadataRequestData.MetadataRequestTopic>of() : topics) {
            answer.topics()
                    .add(new MetadataResponseData.MetadataResponseTopic()
                            .setName(topic.name())
                            .setPartitions(List.of(new MetadataResponseData.MetadataResponsePartition()
                                    .setLeaderId(1)
                                    .setReplicaNodes(List.of(1))
                                    .setIsrNodes(List.of(1)))));
        }
        return answer;
    }

    private static ProduceResponseData produced(ProduceRequest request) {
        ProduceResponseData answer = new ProduceResponseData();
        for (var topic : request.data().topicData()) {
            var partitions = topic.partitionData().stream()
                    .map(one -> new ProduceResponseData.PartitionProduceResponse().setIndex(one.index()))
                    .toList();
            answer.responses()
                    .add(new ProduceResponseData.TopicProduceResponse()
                            .setName(topic.name())
                            .setPartitionResponses(partitions));
        }
        return answer;
    }

    private static KafkaProducer<byte[], byte[]> producer(Map<String, Object> more) throws IOException {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", "127.0.0.1:" + kafka());
        settings.put("enable.idempotence", false);
        settings.put("acks", "1");
        settings.put("enable.metrics.push", false);
        settings.putAll(more);
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static Cause.Task kafkaBuffer() throws IOException {
        var producer = producer(Map.of("buffer.memory", 65_536L));
        byte[] value = new byte[12_000];
        return worker -> producer.send(new ProducerRecord<>("orders", value));
    }

    private static Cause.Task kafkaWait() throws IOException {
        var producer = producer(Map.of());
        byte[] value = new byte[100];
        return worker -> producer.send(new ProducerRecord<>("orders", value)).get();
    }

    /** Records are compressed where they are added to a batch. */
    private static Cause.Task kafkaAccumulator() throws IOException {
        var producer = producer(Map.of(
                "compression.type", "gzip", "batch.size", 1_000_000, "buffer.memory", 500_000_000L, "linger.ms", 50));
        byte[] value = new byte[100_000];
        new java.util.Random(1).nextBytes(value);
        return worker -> {
            producer.send(new ProducerRecord<>("orders", 0, null, value));
            Slow.pause(5);
        };
    }

    /** Each record is the first of its topic. */
    private static Cause.Task kafkaMetadata() throws IOException {
        var producer = producer(Map.of());
        AtomicLong next = new AtomicLong();
        return worker -> producer.send(new ProducerRecord<>("topic-" + next.getAndIncrement(), new byte[10]));
    }

    private static Connection activemq(String options) throws Exception {
        BrokerService broker = new BrokerService();
        broker.setPersistent(false);
        broker.setUseJmx(false);
        broker.setUseShutdownHook(false);
        broker.getSystemUsage().getMemoryUsage().setLimit(1 << 28);
        var connector = broker.addConnector("tcp://127.0.0.1:0");
        broker.start();
        broker.waitUntilStarted();
        Connection connection =
                new ActiveMQConnectionFactory(connector.getPublishableConnectString() + options).createConnection();
        connection.start();
        return connection;
    }

    /** Each thread has a session of the one connection. */
    private static Cause.Task sending(Connection connection, int size, int mode) {
        ThreadLocal<Session> sessions = ThreadLocal.withInitial(() -> {
            try {
                return connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
            } catch (JMSException problem) {
                throw new IllegalStateException(problem);
            }
        });
        ThreadLocal<MessageProducer> producers = ThreadLocal.withInitial(() -> {
            try {
                MessageProducer producer = sessions.get().createProducer(sessions.get().createTopic("orders"));
                producer.setDeliveryMode(mode);
                return producer;
            } catch (JMSException problem) {
                throw new IllegalStateException(problem);
            }
        });
        return worker -> {
            var message = sessions.get().createBytesMessage();
            message.writeBytes(new byte[size]);
            producers.get().send(message);
        };
    }

    private static Cause.Task activemqMutex() throws Exception {
        return sending(activemq("?jms.useAsyncSend=true"), 1_000_000, DeliveryMode.NON_PERSISTENT);
    }

    private static Cause.Task activemqSync() throws Exception {
        return sending(activemq("?jms.alwaysSyncSend=true"), 100, DeliveryMode.PERSISTENT);
    }

    private static void send(DataOutputStream out, int channel, com.rabbitmq.client.Method method) throws IOException {
        ((Method) method).toFrame(channel).writeTo(out);
        out.flush();
    }

    /** As much of RabbitMQ as there has to be; it reads and confirms slowly. */
    private static int rabbit() throws IOException {
        return Peer.listen((in, out) -> {
            in.skipBytes(8);
            send(
                    out,
                    0,
                    new AMQImpl.Connection.Start(
                            0,
                            9,
                            new HashMap<>(),
                            LongStringHelper.asLongString("PLAIN"),
                            LongStringHelper.asLongString("en_US")));
            Map<Integer, Long> published = new HashMap<>();
            while (true) {
                Frame frame = Frame.readFrom(in, 1 << 24);
                int channel = frame.channel;
                if (frame.type != AMQP.FRAME_METHOD) {
                    Slow.pause(frame.type == AMQP.FRAME_BODY ? 3 : 0);
                    continue;
                }
                Method method = AMQImpl.readMethodFrom(frame.getInputStream());
                if (method instanceof AMQP.Connection.StartOk) {
                    send(out, 0, new AMQP.Connection.Tune.Builder().channelMax(100).frameMax(131_072).build());
                } else if (method instanceof AMQP.Connection.Open) {
                    send(out, 0, new AMQP.Connection.OpenOk.Builder().build());
                } else if (method instanceof AMQP.Channel.Open) {
                    send(out, channel, new AMQP.Channel.OpenOk.Builder().build());
                } else if (method instanceof AMQP.Confirm.Select) {
                    send(out, channel, new AMQP.Confirm.SelectOk.Builder().build());
                } else if (method instanceof AMQP.Basic.Publish) {
                    long tag = published.merge(channel, 1L, Long::sum);
                    Slow.pause(2);
                    send(out, channel, new AMQP.Basic.Ack.Builder().deliveryTag(tag).build());
                }
            }
        });
    }

    private static com.rabbitmq.client.Connection rabbitConnection() throws Exception {
        ConnectionFactory factory = new ConnectionFactory();
        factory.setHost("127.0.0.1");
        factory.setPort(rabbit());
        return factory.newConnection();
    }

    private static Cause.Task rabbitConfirms() throws Exception {
        var connection = rabbitConnection();
        ThreadLocal<Channel> channels = ThreadLocal.withInitial(() -> {
            try {
                Channel channel = connection.createChannel();
                channel.confirmSelect();
                return channel;
            } catch (IOException problem) {
                throw new IllegalStateException(problem);
            }
        });
        return worker -> {
            channels.get().basicPublish("", "orders", null, new byte[10]);
            channels.get().waitForConfirms();
        };
    }

    /** All threads publish on one channel. */
    private static Cause.Task rabbitChannel() throws Exception {
        Channel channel = rabbitConnection().createChannel();
        return worker -> channel.basicPublish("", "orders", null, new byte[100_000]);
    }
}
