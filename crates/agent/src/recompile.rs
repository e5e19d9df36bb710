//! Has code compiled again that says too little about who held a lock.
//!
//! Code that was compiled before the agent came has no debug information for
//! the instructions between safepoints, where releasing owners stand: their
//! inlined callee is not known, and such frames are marked approximate. The VM
//! throws a class's code away when the class is retransformed, unchanged, and
//! compiles what is hot again, this time with full debug information
//! (`chain::FullDebugInfo`). JDK 17 may throw away all compiled code at the first
//! retransformation, so this happens only where it was asked for.
//!
//! The draining thread names the classes; a thread of its own, which is the
//! VM's only while it does so, retransforms each once.

use crate::agent::{guarded, Agent};
use crate::jni::{self, Jni, Ref};
use crate::masked_signals::MaskedSignals;
use crate::options::Options;
use crate::reply::{MechanismState, State};
use headway_model::event::MonitorExit;
use headway_model::{ChainId, Dictionary};
use std::collections::HashSet;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::Arc;
use std::time::Duration;

/// How long classes are gathered before they are retransformed together.
const GATHER: Duration = Duration::from_millis(500);
/// Classes that are retransformed in one recording at most.
const MAX_CLASSES: usize = 1000;

/// The word for it, in options, `status` and among what is degraded.
const NAME: &str = "recompile";

/// Makes sure that classes can be retransformed, if it was asked for.
pub fn prepare(agent: &Agent, options: &Options) -> Option<MechanismState> {
    let state = |state, detail: String| MechanismState { name: NAME.to_owned(), state, detail };
    let loss = "code compiled earlier stays as it is";
    match (options.recompile, options.safe) {
        (false, _) => None,
        (true, true) => Some(state(State::Degraded, format!("{loss}: retransformation is not safe mode's"))),
        (true, false) => Some(match agent.jvmti.get_retransformation() {
            Ok(()) => state(State::On, "classes whose inlined owners are not known are retransformed once".to_owned()),
            Err(reason) => state(State::Degraded, format!("{loss}: {reason}")),
        }),
    }
}

/// What the draining thread hands to the retransforming one.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    /// Retransform this class.
    Class(Arc<str>),
    /// There are more than [`MAX_CLASSES`].
    TooMany,
}

/// The draining thread's end: looks at who released locks.
pub struct Recompilation {
    classes: Sender<Told>,
    looked_at: HashSet<ChainId>,
    told: HashSet<Arc<str>>,
}

impl Recompilation {
    /// Begins it, where `prepare` found nothing against it.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn begin(agent: &'static Agent) -> std::io::Result<Recompilation> {
        let (classes, gathered) = mpsc::channel();
        let _masked = MaskedSignals::all_but_faults();
        let thread = std::thread::Builder::new().name("headway-recompile".to_owned());
        thread.spawn(move || {
            let _own = agent.own_cost.own_thread();
            guarded(|_| retransform_all(agent, &gathered));
        })?;
        Ok(Recompilation { classes, looked_at: HashSet::new(), told: HashSet::new() })
    }

    /// Takes in that a lock was released, by code of which not everything is
    /// known if its chain says so.
    pub fn on_exit(&mut self, exit: &MonitorExit, dictionary: &Dictionary) {
        if self.told.len() > MAX_CLASSES || !self.looked_at.insert(exit.chain) {
            return;
        }
        let known = dictionary.chain(exit.chain);
        let frame = known.and_then(|known| known.chain.frames.get(usize::from(exit.owner_frame)));
        let method = frame.filter(|frame| frame.approximate).and_then(|frame| dictionary.method(frame.method));
        let Some(class) = method.map(|method| method.class.clone()) else { return };
        if self.told.insert(class.clone()) {
            let told = if self.told.len() > MAX_CLASSES { Told::TooMany } else { Told::Class(class) };
            // Without a thread that listens nothing more is to be had.
            let _ = self.classes.send(told);
        }
    }

    /// The set of chains was cleared: their ids mean others now.
    pub fn forget_chains(&mut self) {
        self.looked_at.clear();
    }
}

fn retransform_all(agent: &'static Agent, gathered: &Receiver<Told>) {
    while let Ok(first) = gathered.recv() {
        std::thread::sleep(GATHER);
        let all = std::iter::once(first).chain(gathered.try_iter());
        let name = |told| match told {
            Told::Class(class) => Some(signature(&class)),
            Told::TooMany => {
                let limit =
                    format!("code of more than {MAX_CLASSES} classes does not tell who held a lock; the rest stays");
                agent.definitions.degraded(NAME, &limit);
                None
            }
        };
        let names: HashSet<String> = all.filter_map(name).collect();
        let refused = || Err("the VM refuses the thread that would retransform them".to_owned());
        let done = jni::attached(c"headway-recompile", |jni| retransform(agent, jni, &names));
        if let Err(reason) = done.unwrap_or_else(refused) {
            agent.definitions.degraded(NAME, &format!("code compiled earlier stays as it is: {reason}"));
            return;
        }
    }
}

/// `a.b.C` and `a/b/C` as the VM's type signatures have it.
fn signature(class: &str) -> String {
    format!("L{};", class.replace('.', "/"))
}

/// Hidden classes and those of the VM's own that cannot be modified are left out.
fn retransform(agent: &'static Agent, jni: Jni, signatures: &HashSet<String>) -> Result<(), String> {
    let jvmti = &agent.jvmti;
    let classes = jvmti.loaded_classes().map_err(|e| e.to_string())?;
    let is_wanted = |class: Ref| {
        jvmti.class_signature(class).is_ok_and(|signature| signatures.contains(&signature))
            && jvmti.is_modifiable(class).unwrap_or(false)
    };
    let wanted: Vec<Ref> = classes.iter().copied().filter(|class| is_wanted(*class)).collect();
    let done = match wanted.is_empty() {
        true => Ok(()),
        false => jvmti.retransform_all(&wanted).map_err(|e| e.to_string()),
    };
    classes.into_iter().for_each(|class| jni.forget(class));
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_model::event::ExitCause;
    use headway_model::stack::{CallChain, ChainDef, Frame, FrameKind};
    use headway_model::Seq;
    use headway_model::{Event, LockId, Method, MethodId, ThreadId, TimeNs};

    fn dictionary() -> Dictionary {
        let mut dictionary = Dictionary::default();
        let method = Method { class: "shop.Inventory".into(), name: "take".into(), ..Method::default() };
        dictionary.feed(&Event::Method(MethodId(1), Arc::new(method)));
        let frame =
            |approximate| Frame { method: MethodId(1), bci: 3, line: 1, kind: FrameKind::Compiled, approximate };
        for (id, approximate) in [(1, true), (2, false), (3, true)] {
            let chain = CallChain { frames: vec![frame(approximate)], ..CallChain::default() };
            dictionary.feed(&Event::Chain(Arc::new(ChainDef { id: ChainId(id), chain })));
        }
        dictionary
    }

    fn exit(chain: u64) -> MonitorExit {
        MonitorExit {
            time: TimeNs(1),
            thread: ThreadId(1),
            lock: LockId(1),
            seq: Seq(0),
            chain: ChainId(chain),
            owner_frame: 0,
            owner_approximate: false,
            cause: ExitCause::Exit,
        }
    }

    #[test]
    fn a_class_is_told_once_and_only_where_its_frame_is_approximate() {
        let (classes, gathered) = mpsc::channel();
        let mut recompilation = Recompilation { classes, looked_at: HashSet::new(), told: HashSet::new() };
        let dictionary = dictionary();
        [2, 9].into_iter().for_each(|chain| recompilation.on_exit(&exit(chain), &dictionary));
        assert_eq!(gathered.try_recv().ok(), None, "exact and unknown chains");
        [1, 1, 3].into_iter().for_each(|chain| recompilation.on_exit(&exit(chain), &dictionary));
        assert_eq!(gathered.try_iter().collect::<Vec<_>>(), [Told::Class("shop.Inventory".into())]);
    }

    #[test]
    fn that_there_are_too_many_is_told_once() {
        let (classes, gathered) = mpsc::channel();
        let told = (0..MAX_CLASSES).map(|n| n.to_string().into()).collect();
        let mut recompilation = Recompilation { classes, looked_at: HashSet::new(), told };
        let dictionary = dictionary();
        [1, 3].into_iter().for_each(|chain| recompilation.on_exit(&exit(chain), &dictionary));
        assert_eq!(gathered.try_iter().collect::<Vec<_>>(), [Told::TooMany]);
    }

    #[test]
    fn signatures_are_those_of_the_vm() {
        assert_eq!(signature("shop.Inventory$Row"), "Lshop/Inventory$Row;");
    }
}
