package io.headway.diagnose;

import com.lmax.disruptor.BlockingWaitStrategy;
import com.lmax.disruptor.RingBuffer;
import com.lmax.disruptor.dsl.Disruptor;
import com.lmax.disruptor.dsl.ProducerType;
import com.lmax.disruptor.util.DaemonThreadFactory;
import io.netty.channel.DefaultEventLoopGroup;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.reactivex.rxjava3.core.Single;
import io.reactivex.rxjava3.schedulers.Schedulers;
import java.util.List;
import java.util.concurrent.Executors;
import org.quartz.Job;
import org.quartz.JobBuilder;
import org.quartz.JobExecutionContext;
import org.quartz.Scheduler;
import org.quartz.impl.StdSchedulerFactory;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler.Worker;

/** Bottlenecks at event loops, schedulers and ring buffers. */
final class Reactive {
    private Reactive() {}

    static List<Program> programs() {
        return List.of(
                Program.of("netty-event-loop", "netty", Loop::new, "Loop", "handle"),
                Program.of("reactor-single", "reactor-core", ReactorService::new, "Reactive\\.handle"),
                Program.of("rxjava-single", "rxjava", RxService::new, "Reactive\\.handle"),
                Program.of("disruptor-consumer", "disruptor", Ring::new, "Ring|RingBuffer|Sequencer", "consume|next"),
                Program.of("quartz-threads", "quartz", Jobs::new, "execute|WorkerThread|Jobs"));
    }

    private static int handle(int request) {
        try {
            Work.remoteCall(3);
        } catch (InterruptedException over) {
            Thread.currentThread().interrupt();
        }
        return request;
    }

    /** Handlers block the one event loop. */
    private static final class Loop implements Service {
        private final EventLoopGroup group;

        Loop(boolean isFixed) {
            group = new DefaultEventLoopGroup(isFixed ? 8 : 1);
        }

        @Override
        public void serve(int worker) throws Exception {
            EventLoop loop = group.next();
            loop.submit(() -> handle(worker)).get();
        }
    }

    /** Blocking work on a scheduler of one thread. */
    private static final class ReactorService implements Service {
        private final reactor.core.scheduler.Scheduler scheduler;

        ReactorService(boolean isFixed) {
            scheduler = isFixed
                    ? reactor.core.scheduler.Schedulers.boundedElastic()
                    : reactor.core.scheduler.Schedulers.newSingle("one", true);
            Worker unused = scheduler.createWorker();
            unused.dispose();
        }

        @Override
        public void serve(int worker) {
            Mono.fromCallable(() -> handle(worker)).subscribeOn(scheduler).block();
        }
    }

    private static final class RxService implements Service {
        private final boolean isFixed;

        RxService(boolean isFixed) {
            this.isFixed = isFixed;
        }

        @Override
        public void serve(int worker) {
            Single.fromCallable(() -> handle(worker))
                    .subscribeOn(isFixed ? Schedulers.io() : Schedulers.single())
                    .blockingGet();
        }
    }

    /** Producers find the ring full. */
    private static final class Ring implements Service {
        private final RingBuffer<int[]> ring;

        Ring(boolean isFixed) {
            Disruptor<int[]> disruptor = new Disruptor<>(
                    () -> new int[1], 16, DaemonThreadFactory.INSTANCE, ProducerType.MULTI, new BlockingWaitStrategy());
            disruptor.handleEventsWith((event, sequence, isLast) -> consume(isFixed));
            ring = disruptor.start();
        }

        private static void consume(boolean isFixed) throws InterruptedException {
            if (!isFixed) {
                Work.remoteCall(2);
            }
        }

        @Override
        public void serve(int worker) {
            Work.compute(50);
            long sequence = ring.next();
            ring.get(sequence)[0] = worker;
            ring.publish(sequence);
        }
    }

    /** Requests wait for jobs that too few threads run. */
    private static final class Jobs implements Service {
        private static final java.util.concurrent.ConcurrentHashMap<String, CountDownLatch> DONE =
                new java.util.concurrent.ConcurrentHashMap<>();
        private static final java.util.concurrent.atomic.AtomicLong NUMBER = new java.util.concurrent.atomic.AtomicLong();
        private final Scheduler scheduler;

        Jobs(boolean isFixed) throws Exception {
            Properties properties = new Properties();
            properties.setProperty("org.quartz.scheduler.instanceName", "jobs" + isFixed);
            properties.setProperty("org.quartz.threadPool.threadCount", isFixed ? "16" : "1");
            properties.setProperty("org.quartz.scheduler.skipUpdateCheck", "true");
            scheduler = new StdSchedulerFactory(properties).getScheduler();
            scheduler.start();
        }

        /** What is scheduled. */
        public static final class Slow implements Job {
            @Override
            public void execute(JobExecutionContext context) {
                handle(1);
                DONE.remove(context.getJobDetail().getKey().getName()).countDown();
            }
        }

        @Override
        public void serve(int worker) throws Exception {
            String name = "job-" + NUMBER.incrementAndGet();
            CountDownLatch done = new CountDownLatch(1);
            DONE.put(name, done);
            var job = JobBuilder.newJob(Slow.class).withIdentity(name).build();
            scheduler.scheduleJob(job, org.quartz.TriggerBuilder.newTrigger().startNow().build());
            done.await();
        }

        @Override
        public void close() throws Exception {
            scheduler.shutdown();
            Executors.newCachedThreadPool().shutdown();
        }
    }
}
