//! A stream of lock events as an agent makes them: threads that contend for a
//! few hot and many cold locks. A lock is taken at a few places of the program
//! only, and who holds it is who took it last. Drained thread by thread once a
//! second.

use headway_model::event::{LockDef, MonitorEnter, MonitorEntered, MonitorExit, RecordingInfo, ThreadDef};
use headway_model::stack::ChainDef;
use headway_model::{
    CallChain, ChainId, Dictionary, Event, Frame, FrameKind, LockId, Method, MethodId, Seq, ThreadId, TimeNs,
};
use std::sync::Arc;

/// A small generator of random numbers (xorshift), the same on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound
    }

    /// Small numbers far more often than large ones.
    pub fn skewed(&mut self, bound: u64) -> u64 {
        let a = self.below(bound + 1);
        let b = self.below(a + 1);
        self.below(b + 1)
    }

    /// Exponentially distributed around `mean`.
    pub fn about(&mut self, mean: u64) -> u64 {
        let uniform = (self.below(1 << 30) + 1) as f64 / (1u64 << 30) as f64;
        (-uniform.ln() * mean as f64) as u64 + 1
    }
}

pub const START: TimeNs = TimeNs(3_000_000_000_000);
pub const THREADS: u64 = 16;
const LOCKS: u64 = 40;
const CHAINS: u64 = 400;
const METHODS: u64 = 900;

pub fn info() -> Arc<RecordingInfo> {
    Arc::new(RecordingInfo {
        start: START,
        epoch_offset_ns: 1_790_000_000_000_000_000,
        producer: "headway test".into(),
        jvm_name: "OpenJDK 64-Bit Server VM".into(),
        jvm_version: "17.0.15+6".into(),
        java_arguments: "com.acme.Main --serve".into(),
        jvm_arguments: "-Xmx256m".into(),
        pid: 4711,
        jvm_start: TimeNs(2_999_000_000_000),
        settings: vec![("events".into(), "monitor".into())],
    })
}

/// Threads, methods, chains and locks that the stream refers to.
pub fn definitions() -> Vec<Event> {
    let mut random = Random::new(42);
    let mut events = Vec::new();
    for id in 1..=THREADS {
        events.push(Event::Thread(ThreadDef {
            id: ThreadId(id + 20),
            os_id: 9000 + id as u32,
            name: format!("http-nio-8080-exec-{id}").into(),
            group: "main".into(),
            is_virtual: false,
            is_service: false,
        }));
    }
    for id in 1..=METHODS {
        events.push(Event::Method(
            MethodId(id),
            Arc::new(Method {
                class: format!("com.acme.service.p{}.Component{}", id % 17, id / 7).into(),
                name: format!("operation{id}").into(),
                descriptor: "(Ljava/lang/String;J)Ljava/lang/Object;".into(),
                source_file: format!("Component{}.java", id / 7).into(),
                access_flags: 1,
                hidden: false,
            }),
        ));
    }
    for id in 1..=CHAINS {
        let depth = 15 + random.below(30);
        let frames = (0..depth)
            .map(|_| Frame {
                method: MethodId(1 + random.skewed(METHODS - 1)),
                bci: random.below(200) as i32,
                line: 10 + random.below(900) as u32,
                kind: if random.below(2) == 0 { FrameKind::Compiled } else { FrameKind::Inlined },
                approximate: false,
            })
            .collect();
        let chain = CallChain { frames, truncated: false };
        events.push(Event::Chain(Arc::new(ChainDef { id: ChainId(id), chain })));
    }
    for id in 1..=LOCKS {
        events.push(Event::Lock(LockDef {
            id: LockId(id),
            class: format!("com.acme.store.Shard{}", id % 5).into(),
            identity_hash: random.next() as u32 & 0x7fff_ffff,
            name: format!("Store.shard{id}").into(),
        }));
    }
    events
}

pub fn dictionary() -> Dictionary {
    let mut dictionary = Dictionary::default();
    definitions().iter().for_each(|event| dictionary.feed(event));
    dictionary
}

/// Makes contended episodes, three events each.
pub struct Stream {
    random: Random,
    now: u64,
    seqs: Vec<u64>,
    /// Who took each lock last.
    owners: Vec<u64>,
    gap: u64,
}

impl Stream {
    /// About `per_second` events a second.
    pub fn new(per_second: u64) -> Stream {
        let locks = LOCKS as usize + 1;
        Stream {
            random: Random::new(7),
            now: START.0,
            seqs: vec![0; locks],
            owners: vec![21; locks],
            gap: 3_000_000_000 / per_second,
        }
    }

    pub fn now(&self) -> TimeNs {
        TimeNs(self.now)
    }

    fn seq(&mut self, lock: u64) -> Seq {
        self.seqs[lock as usize] += 1;
        Seq(self.seqs[lock as usize])
    }

    /// The events of the next second, thread by thread.
    pub fn second(&mut self) -> Vec<Event> {
        let end = self.now + 1_000_000_000;
        let mut events = Vec::new();
        while self.now < end {
            self.now += self.random.about(self.gap);
            self.episode(&mut events);
        }
        events.sort_by_key(|(thread, _)| *thread);
        events.into_iter().map(|(_, event)| event).collect()
    }

    fn episode(&mut self, out: &mut Vec<(u64, Event)>) {
        let lock = 1 + self.random.skewed(LOCKS - 1);
        let contender = 21 + self.random.below(THREADS);
        let owner = std::mem::replace(&mut self.owners[lock as usize], contender);
        let place = |nth: u64| ChainId(1 + (lock * 37 + nth * 11) % CHAINS);
        let chain = place(self.random.skewed(7));
        let owner_chain = place(10 + self.random.skewed(7));
        let start = TimeNs(self.now);
        let released = TimeNs(start.0 + self.random.about(200_000));
        let time = TimeNs(released.0 + self.random.about(30_000));
        let (thread, lock_id) = (ThreadId(contender), LockId(lock));
        let enter =
            MonitorEnter { time: start, thread, lock: lock_id, seq: self.seq(lock), chain, owner: ThreadId(owner) };
        let exit = MonitorExit {
            time: released,
            thread: ThreadId(owner),
            lock: lock_id,
            seq: self.seq(lock),
            chain: owner_chain,
            ..MonitorExit::default()
        };
        let entered = MonitorEntered {
            time,
            start,
            thread,
            lock: lock_id,
            seq: self.seq(lock),
            chain,
            previous_owner: ThreadId(owner),
        };
        out.push((contender, Event::MonitorEnter(enter)));
        out.push((owner, Event::MonitorExit(exit)));
        out.push((contender, Event::MonitorEntered(entered)));
    }
}
