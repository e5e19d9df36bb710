package io.headway.eval;

import io.headway.eval.compute.DeepCalls;
import io.headway.eval.compute.Exceptions;
import io.headway.eval.compute.Kernels;
import io.headway.eval.compute.Megamorphic;
import io.headway.eval.compute.NativeCalls;
import io.headway.eval.published.DerbyBank;
import io.headway.eval.published.FopPages;
import io.headway.eval.published.Javac;
import io.headway.eval.published.JettyServer;
import io.headway.eval.published.LuceneSearch;
import io.headway.eval.published.OrderMix;
import io.headway.eval.published.PekkoRing;
import io.headway.eval.published.PmdRules;
import io.headway.eval.published.VirtualServer;
import io.headway.eval.published.XalanTransform;
import io.headway.eval.worst.ChangingLoad;
import io.headway.eval.worst.ClassStorm;
import io.headway.eval.worst.DeepEnter;
import io.headway.eval.worst.HotMonitor;
import io.headway.eval.worst.HotReentrantLock;
import io.headway.eval.worst.ManyLocks;
import io.headway.eval.worst.ParkDeep;
import io.headway.eval.worst.ParkPingPong;
import io.headway.eval.worst.QueuedMonitor;
import io.headway.eval.worst.VirtualThreads;
import io.headway.eval.worst.WaitNotify;
import io.headway.workloads.UsageException;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;

/** All programs by name. What each is good for is described in {@code eval/workloads.py}. */
final class Catalog {
    private static final Map<String, Callable<Work>> WORKS = new TreeMap<>();

    static {
        WORKS.put("changing-load", ChangingLoad::new);
        WORKS.put("class-storm", ClassStorm::new);
        WORKS.put("deep-calls", DeepCalls::new);
        WORKS.put("deep-enter", DeepEnter::new);
        WORKS.put("derby", DerbyBank::new);
        WORKS.put("exceptions", Exceptions::new);
        WORKS.put("fop", FopPages::new);
        WORKS.put("h2", OrderMix::new);
        WORKS.put("hot-monitor", HotMonitor::new);
        WORKS.put("hot-reentrant-lock", HotReentrantLock::new);
        WORKS.put("javac", Javac::new);
        WORKS.put("jetty", JettyServer::new);
        WORKS.put("kernels", Kernels::new);
        WORKS.put("lucene", LuceneSearch::new);
        WORKS.put("many-locks", ManyLocks::new);
        WORKS.put("megamorphic", Megamorphic::new);
        WORKS.put("native-calls", NativeCalls::new);
        WORKS.put("park-deep", ParkDeep::new);
        WORKS.put("park-ping-pong", ParkPingPong::new);
        WORKS.put("pekko", PekkoRing::new);
        WORKS.put("pmd", PmdRules::new);
        WORKS.put("queued-monitor", QueuedMonitor::new);
        WORKS.put("virtual-server", VirtualServer::new);
        WORKS.put("virtual-threads", VirtualThreads::new);
        WORKS.put("wait-notify", WaitNotify::new);
        WORKS.put("xalan", XalanTransform::new);
    }

    private Catalog() {}

    /** Makes a program's work. */
    static Work make(String name) throws Exception {
        Callable<Work> work = WORKS.get(name);
        if (work == null) {
            throw new UsageException("expected one of " + String.join(", ", WORKS.keySet()));
        }
        return work.call();
    }
}
