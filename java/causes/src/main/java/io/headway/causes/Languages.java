package io.headway.causes;

import groovy.lang.GroovySystem;
import groovy.lang.MetaClass;
import groovy.lang.MetaClassRegistry;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import kotlin.Lazy;
import kotlin.LazyKt;
import kotlin.coroutines.EmptyCoroutineContext;
import kotlinx.coroutines.BuildersKt;
import kotlinx.coroutines.DelayKt;
import scala.collection.immutable.LazyList;
import scala.concurrent.Await;
import scala.concurrent.ExecutionContext;
import scala.concurrent.Future;
import scala.concurrent.duration.Duration;

/** What the runtimes of other languages do for their programs. */
final class Languages {
    private Languages() {}

    static List<Cause> causes() {
        return List.of(
                Cause.of("groovy-classinfo", Languages::groovy),
                Cause.of("scala-lazy-val", Languages::scalaLazy),
                Cause.of("scala-await", Languages::scalaAwait),
                Cause.of("kotlin-lazy", Languages::kotlinLazy),
                Cause.of("kotlin-run-blocking", Languages::runBlocking));
    }

    /** Meta classes are removed and created again, which takes a while. */
    private static Cause.Task groovy() {
        MetaClassRegistry registry = GroovySystem.getMetaClassRegistry();
        registry.setMetaClassCreationHandle(new MetaClassRegistry.MetaClassCreationHandle() {
            @Override
            @SuppressWarnings("rawtypes")
            protected MetaClass createNormalMetaClass(Class theClass, MetaClassRegistry of) {
                Slow.pause(3);
                return super.createNormalMetaClass(theClass, of);
            }
        });
        return worker -> {
            registry.getMetaClass(Languages.class);
            registry.removeMetaClass(Languages.class);
        };
    }

    /** The state of a lazy list is a lazy val; all threads need it and one computes it. */
    private static Cause.Task scalaLazy() {
        AtomicReference<LazyList<Integer>> list = new AtomicReference<>(slowList());
        return worker -> {
            LazyList<Integer> own = list.get();
            own.headOption();
            list.compareAndSet(own, slowList());
        };
    }

    private static LazyList<Integer> slowList() {
        return scala.package$.MODULE$.LazyList().continually(() -> Slow.after(20, 1));
    }

    private static Cause.Task scalaAwait() {
        ExecutionContext context = ExecutionContext.global();
        return worker -> Await.result(Future.apply(() -> Slow.after(10, 1), context), Duration.Inf());
    }

    private static Cause.Task kotlinLazy() {
        AtomicReference<Lazy<Integer>> property = new AtomicReference<>(LazyKt.lazy(() -> Slow.after(20, 1)));
        return worker -> {
            Lazy<Integer> own = property.get();
            own.getValue();
            property.compareAndSet(own, LazyKt.lazy(() -> Slow.after(20, 1)));
        };
    }

    private static Cause.Task runBlocking() {
        return worker -> BuildersKt.runBlocking(
                EmptyCoroutineContext.INSTANCE, (scope, continuation) -> DelayKt.delay(5, continuation));
    }
}
