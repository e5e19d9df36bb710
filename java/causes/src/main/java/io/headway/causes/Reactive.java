package io.headway.causes;

import com.lmax.disruptor.BlockingWaitStrategy;
import com.lmax.disruptor.dsl.Disruptor;
import com.lmax.disruptor.dsl.ProducerType;
import com.lmax.disruptor.util.DaemonThreadFactory;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.DefaultEventLoopGroup;
import io.reactivex.rxjava3.core.Single;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.concurrent.Executors;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Event loops, pipelines, ring buffers and their clients. */
final class Reactive {
    private Reactive() {}

    static List<Cause> causes() {
        return List.of(
                Cause.of("reactor-block", Reactive::reactor),
                Cause.of("rxjava-blocking", Reactive::rxjava),
                Cause.of("netty-await", Reactive::nettyAwait),
                Cause.of("netty-arena", Reactive::nettyArena),
                Cause.of("disruptor-full", Reactive::disruptor),
                Cause.of("grpc-blocking-stub", Reactive::grpc));
    }

    private static Cause.Task reactor() {
        var single = Schedulers.newSingle("answers", true);
        return worker -> Mono.fromSupplier(() -> Slow.after(3, 1)).subscribeOn(single).block();
    }

    private static Cause.Task rxjava() {
        var single = io.reactivex.rxjava3.schedulers.Schedulers.from(Executors.newSingleThreadExecutor());
        return worker ->
                Single.fromCallable(() -> Slow.after(3, 1)).subscribeOn(single).blockingGet();
    }

    private static Cause.Task nettyAwait() {
        var loop = new DefaultEventLoopGroup(1).next();
        return worker -> loop.submit(() -> Slow.pause(3)).sync();
    }

    /** One arena for all threads, none of which has a cache. */
    private static Cause.Task nettyArena() {
        var allocator = new PooledByteBufAllocator(true, 1, 1, 8192, 9, 0, 0, false);
        return worker -> {
            ByteBuf[] buffers = new ByteBuf[64];
            for (int i = 0; i < buffers.length; i++) {
                buffers[i] = allocator.heapBuffer(40_000);
            }
            for (ByteBuf buffer : buffers) {
                buffer.release();
            }
        };
    }

    private static Cause.Task disruptor() {
        var ring = new Disruptor<>(
                () -> new int[1], 8, DaemonThreadFactory.INSTANCE, ProducerType.MULTI, new BlockingWaitStrategy());
        ring.handleEventsWith((event, sequence, endOfBatch) -> Slow.pause(3));
        ring.start();
        return worker -> ring.publishEvent((event, sequence) -> event[0] = worker);
    }

    private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException problem) {
                throw new IllegalStateException(problem);
            }
        }
    }

    private static Cause.Task grpc() throws IOException {
        MethodDescriptor<byte[], byte[]> method = MethodDescriptor.<byte[], byte[]>newBuilder()
                .setType(MethodDescriptor.MethodType.UNARY)
                .setFullMethodName("causes/Answer")
                .setRequestMarshaller(new Bytes())
                .setResponseMarshaller(new Bytes())
                .build();
        var service = ServerServiceDefinition.builder("causes")
                .addMethod(method, ServerCalls.<byte[], byte[]>asyncUnaryCall((request, answer) -> {
                    answer.onNext(Slow.after(5, request));
                    answer.onCompleted();
                }))
                .build();
        InProcessServerBuilder.forName("causes").addService(service).build().start();
        ManagedChannel channel = InProcessChannelBuilder.forName("causes").build();
        return worker -> ClientCalls.blockingUnaryCall(channel, method, CallOptions.DEFAULT, new byte[1]);
    }
}
