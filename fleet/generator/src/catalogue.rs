//! A service's locks, what is waited for, and call stacks.

use crate::draw::{self, Draw};
use crate::shape;
use crate::spec::Spec;
use headway_rollup::identity;
use headway_rollup::rows::{Site, Stack};

/// What waits are for, by the words of `wait_minute`.
const SYNCHRONIZERS: [&str; 5] = ["Object.wait", "a condition", "a latch", "a permit of a semaphore", "a result"];

/// See the module.
pub struct Catalogue {
    pub locks: Vec<Lock>,
    pub waits: Vec<Wait>,
    pub stacks: Vec<Stack>,
}

/// A lock, with its stacks' places in the catalogue.
pub struct Lock {
    pub site: Site,
    pub kind: &'static str,
    pub is_virtual: bool,
    /// How long it blocks, beside others.
    pub scale: f64,
    pub has_convoys: bool,
    pub waiters: Vec<usize>,
    pub owners: Vec<usize>,
}

/// Something that is waited for.
pub struct Wait {
    pub site: Site,
    pub synchronizer: &'static str,
    pub stacks: Vec<usize>,
}

impl Catalogue {
    /// A service's.
    pub fn of(spec: &Spec, service: &str) -> Catalogue {
        let mut made = Catalogue { locks: Vec::new(), waits: Vec::new(), stacks: Vec::new() };
        for at in 0..spec.sites {
            // A library's locks are the same in all services, with stacks of each.
            let owner = if at < shape::LIBRARY_SITES { "library" } else { service };
            let mut draw = draw::of(spec.seed, "lock", &[owner, &at.to_string()]);
            let lock = made.lock(&mut draw, service, owner, at);
            made.locks.push(lock);
            let wait = made.wait(&mut draw, service, at);
            made.waits.push(wait);
        }
        made
    }

    fn lock(&mut self, draw: &mut Draw, service: &str, owner: &str, at: u32) -> Lock {
        let kind = if draw.chance(shape::JUC) { "juc" } else { "monitor" };
        let class = format!("com.example.{owner}.Part{at}");
        let member = if draw.chance(shape::ONLY_CLASS) { String::new() } else { format!("Part{at}.lock") };
        let site = Site { id: identity::site(&class, &member, kind), class, member, kind: kind.into() };
        let is_virtual = draw.chance(shape::VIRTUAL);
        let scale = draw.pareto(shape::SITE_SCALE_TAIL, shape::SITE_SCALE_MOST);
        let has_convoys = draw.chance(shape::CONVOY_LOCKS);
        let waiters = self.stacks(draw, service, &format!("Part{at}.enter"));
        let owners = self.stacks(draw, service, &format!("Part{at}.rebuild"));
        Lock { site, kind, is_virtual, scale, has_convoys, waiters, owners }
    }

    fn wait(&mut self, draw: &mut Draw, service: &str, at: u32) -> Wait {
        let class = format!("com.example.{service}.Queue{at}");
        let kind = "conditional";
        let site = Site { id: identity::site(&class, "", kind), class, member: String::new(), kind: kind.into() };
        let synchronizer = SYNCHRONIZERS[draw.early(SYNCHRONIZERS.len())];
        Wait { site, synchronizer, stacks: self.stacks(draw, service, &format!("Queue{at}.take")) }
    }

    fn stacks(&mut self, draw: &mut Draw, service: &str, leaf: &str) -> Vec<usize> {
        let count = draw.whole((1, shape::STACKS.into()));
        (0..count).map(|number| self.stack(draw, service, &format!("{leaf}{number}"))).collect()
    }

    /// A stack with this leaf; below it, methods of the service, and those with which all threads begin.
    fn stack(&mut self, draw: &mut Draw, service: &str, leaf: &str) -> usize {
        let (least, most) = shape::DEPTH;
        let depth = draw.log_normal(shape::DEPTH_MEDIAN, shape::DEPTH_SPREAD).clamp(least, most) as u64;
        let mut frames = vec![format!("com.example.{service}.{leaf}")];
        for frame in 2..depth {
            let variant = draw.whole((0, 3));
            frames.push(format!("com.example.{service}.Layer{frame}.call{variant}"));
        }
        frames.push("java.lang.Thread.run".to_owned());
        self.stacks.push(Stack { id: identity::stack(frames.iter().map(String::as_str)), frames });
        self.stacks.len() - 1
    }
}
