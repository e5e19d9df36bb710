//! What owners were seen to do while others waited for them, in a sentence.

use super::words::{code, count, grouped, percent, Who};
use super::Grounds;
use crate::aggregate::share;
use crate::analysis::Analysis;
use crate::ledger::Quality;
use crate::method::sample_report::suffice;
use crate::names::{is_machinery, is_plumbing, Plumbing};
use crate::report::{Evidence, OwnerActivity, Report};
use rustc_hash::FxHashMap;

const HALF: f64 = 0.5;
/// Part of the time from which on what is said of it is from parks.
const BY_PARKS: f64 = 0.9;
/// A part of them that is worth a sentence.
const WORTH_SAYING: f64 = 0.3;
/// A part of them that is said without a number.
const MOSTLY: f64 = 0.5;
/// Of all the time in which others waited for something that is no lock, the least that is said without a number.
pub(super) const OFTEN: f64 = 0.2;
/// Where a thread waits until a socket is ready or another thread wakes it: the JDK's selectors, and Netty's own.
const SELECTS: [&str; 4] = ["SelectorImpl.select", "EPoll.wait", "Native.epollWait", "Native.ioUringEnter"];
/// Calls in which a thread waits for the next connection.
const ACCEPTS: [&str; 5] = [
    "ServerSocket.accept",
    "ServerSocket.implAccept",
    "ServerSocketChannelImpl.accept",
    "NioSocketImpl.accept",
    "Net.accept",
];
/// Methods that wait for a file, a pipe or a socket.
const OUTSIDE: [&str; 5] = [
    "java.io.FileInputStream.",
    "java.io.FileOutputStream.",
    "java.io.RandomAccessFile.",
    "java.net.Socket",
    "sun.nio.ch.",
];
/// How much of the time samples cover is said where it is less than this part.
const COVERED: f64 = 0.995;
/// The same of waits, where it is less that samples could show.
const NEARLY_ALL: f64 = 0.9;

/// Where a thread was, the part of its stack that says something: `Thread.sleep`, called from
/// `Web.remotePrice`, somewhere below `Web.priceSync`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Doing {
    /// What the innermost method of the application called; empty if nothing. Where that
    /// was a library, what the library called.
    call: String,
    /// True if a method of a library or of the JDK lies between the two.
    through_library: bool,
    /// The innermost method of the application.
    inner: String,
    /// The next method of the application below that.
    next: String,
    /// True if that did not call `inner` itself, but a library that did.
    is_next_further: bool,
    /// The outermost one that is looked at.
    outer: String,
}

impl Doing {
    /// From a stack, leaf first, cut where it begins to matter. `has_owner` where it ends
    /// with the method that had it, which is named already: what that called says more.
    pub fn of<'a>(frames: impl Iterator<Item = &'a str> + Clone, has_owner: bool) -> Option<Doing> {
        let methods = frames.map(without_line);
        let plumbing = Plumbing::of(methods.clone());
        let own = || methods.clone().filter(|full| !plumbing.has(full));
        let Some(inner) = own().next() else {
            // Nothing of the application: its last call says most.
            let mut calls = methods.clone().filter(|full| full.contains('.')).collect::<Vec<_>>();
            let last = calls.pop()?;
            // The last one had it.
            let call = if has_owner { calls.pop().filter(|call| *call != last) } else { Some(last) };
            let call = call.map_or_else(String::new, short);
            return Some(match outside_of_vm(methods, &call) {
                Some((outside, through_library)) => {
                    Doing { call: outside, through_library, inner: call, ..Doing::default() }
                }
                None => Doing { call, ..Doing::default() },
            });
        };
        // A method of the JDK that had it, as a map's that computes, is left out already.
        let is_own_last = methods.clone().last().is_some_and(|full| !plumbing.has(full));
        let owned = own().count().saturating_sub(usize::from(has_owner && is_own_last)).max(1);
        let named = |name: Option<&str>| name.map_or_else(String::new, short);
        let called = methods.clone().take_while(|full| *full != inner).filter(|full| full.contains('.'));
        let is_library = |full: &&str| !is_plumbing(full);
        let library = called.clone().find(is_library);
        let of_jdk = called.clone().take_while(|full| !is_library(full)).last();
        let call = of_jdk.or(library);
        let next = own().take(owned).nth(1);
        // From a method to the one below it, without what the compiler or the VM put between them.
        let mut callers = methods.clone().skip_while(|full| *full != inner).filter(|full| *full != inner);
        let caller = callers.find(|full| full.contains('.') && !is_machinery(full));
        Some(Doing {
            call: call.map_or_else(String::new, short),
            through_library: call.is_some_and(|call| called.last().is_some_and(|last| last != call)),
            inner: short(inner),
            next: named(next),
            is_next_further: next.is_some_and(|next| next != inner) && caller != next,
            outer: named(own().take(owned).filter(|full| !full.contains("(lambda")).last()),
        })
    }

    /// `in `Thread.sleep`, called from `Web.remotePrice``, or `in its own code`; `who`
    /// is the subject already.
    fn text(&self, who: &str) -> String {
        let inner = Some(self.inner.as_str()).filter(|inner| code(inner) != who);
        match (self.call.as_str(), inner.unwrap_or_default()) {
            ("", "") => "in its own code".to_owned(),
            ("", inner) => format!("in {}", code(inner)),
            (call, "") => format!("in {}", code(call)),
            (call, inner) if self.next.is_empty() || code(&self.next) == who => {
                format!("in {}, {} {}", code(call), self.called_from(), code(inner))
            }
            (call, inner) => {
                let gap = if self.is_next_further { " < …" } else { "" };
                format!("in {}, {} {}{gap} < {}", code(call), self.called_from(), code(inner), code(&self.next))
            }
        }
    }
}

impl Doing {
    /// `, in `Web.serve``, the outermost method, where that is not named already.
    fn below(&self, who: &str) -> String {
        let is_named = [&self.inner, &self.next].contains(&&self.outer) || who == code(&self.outer);
        match self.outer.is_empty() || is_named {
            true => String::new(),
            false => format!(", in {}", code(&self.outer)),
        }
    }

    /// True if the thread only waited for what others do.
    fn is_select(&self) -> bool {
        SELECTS.contains(&self.call.as_str())
    }

    /// True if it waited for the next connection.
    fn is_accept(&self) -> bool {
        ACCEPTS.contains(&self.call.as_str())
    }

    fn called_from(&self) -> &'static str {
        match self.through_library {
            true => "called through a library from",
            false => "called from",
        }
    }
}

/// The call of the JDK in which a thread waits for something outside of the VM, where that is not `call` itself; and
/// whether there is something between the two.
fn outside_of_vm<'a>(methods: impl Iterator<Item = &'a str> + Clone, call: &str) -> Option<(String, bool)> {
    let is_outside = |full: &&str| OUTSIDE.iter().any(|prefix| full.starts_with(prefix));
    let mut of_java = methods.skip_while(|full| !full.starts_with("java.") && !is_outside(full));
    let at = of_java.clone().take_while(is_outside).count().checked_sub(1)?;
    let outside = short(of_java.nth(at)?);
    let is_between = of_java.next().is_none_or(|next| short(next) != call);
    (outside != call && !call.is_empty()).then_some((outside, is_between))
}

/// Samples of what was done.
#[derive(Clone, Debug, Default)]
pub(super) struct Doings {
    by: FxHashMap<Doing, u64>,
    ns: u64,
    samples: u64,
    waiting_for: u64,
    /// The elapsed time in which others waited for something that is no lock, or less; 0 if that is not known.
    within: u64,
    /// The part of the time in which others waited that samples could show; `None` for all.
    reached: Option<f64>,
    /// The part that these samples are of those of all that others waited for; `None` if all.
    part: Option<f64>,
    /// Of `ns`, what parks of virtual threads say: no samples.
    parked: u64,
}

impl Doings {
    /// Adds so many samples that stand for so long.
    pub fn add(&mut self, doing: Doing, ns: u64, samples: u64) {
        *self.by.entry(doing).or_default() += ns.max(1);
        self.ns += ns.max(1);
        self.samples += samples;
    }

    /// The time that all samples stand for.
    pub fn ns(&self) -> u64 {
        self.ns
    }

    /// Others waited for at least so long.
    pub fn compare_with(&mut self, within: u64) {
        self.within = within;
    }

    /// Samples could show only this part of the time in which others waited.
    pub fn reach(&mut self, part: f64) {
        self.reached = Some(self.reached.map_or(part, |reached| reached.min(part)));
    }

    /// It is only this part of what was done by all that others waited for.
    pub fn are_part(&mut self, part: f64) {
        self.part = Some(part);
    }

    /// How many samples there are.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The part of the time in which others waited that is known; 1 if that time is not known.
    fn covered(&self) -> f64 {
        let covered = match (self.waiting_for, self.within) {
            (0, 0) => 1.0,
            (0, within) => share(self.ns, within).min(1.0),
            (waiting_for, _) => share(self.ns, waiting_for),
        };
        self.reached.map_or(covered, |reached| covered.min(reached))
    }

    /// `114 samples`, with how little of the time they cover where others waited for something that is no lock.
    fn samples_text(&self) -> String {
        self.samples_of(self.samples)
    }

    fn samples_of(&self, samples: u64) -> String {
        let samples = grouped(samples);
        let covered = self.covered();
        match covered < HALF || self.reached.is_some_and(|reached| reached < NEARLY_ALL) {
            true => format!("{samples} samples, which cover {} of the time", percent(covered)),
            false => format!("{samples} samples"),
        }
    }

    /// True if it is known for at least half of the time in which others waited.
    pub fn are_of_half(&self) -> bool {
        self.covered() >= HALF
    }

    /// True if little of it are samples: parks say exactly when they were.
    fn is_by_parks(&self) -> bool {
        self.waiting_for > 0 && share(self.parked, self.ns) >= BY_PARKS
    }

    /// True if samples show what was done for at least half of the time.
    pub fn cover_most(&self) -> bool {
        !self.is_by_parks() && self.waiting_for > 0 && share(self.ns, self.waiting_for) >= HALF
    }

    fn most(&self) -> Option<(&Doing, f64)> {
        let most = self.by.iter().max_by(|(a, a_ns), (b, b_ns)| a_ns.cmp(b_ns).then_with(|| b.cmp(a)))?;
        let part = share(*most.1, self.ns);
        (self.suffice() && part >= WORTH_SAYING).then_some((most.0, part))
    }

    /// True if there are enough samples to say what was done.
    fn suffice(&self) -> bool {
        suffice(self.covered(), self.samples, share(self.parked, self.ns))
    }

    /// `While `Web.priceSync` blocked others, only 9 samples of it were taken (4.0 % of the time): too few to say what it
    /// did.`
    pub fn too_few(&self, who: &str) -> Option<String> {
        let (samples, were) = (count(self.samples, "sample"), if self.samples == 1 { "was" } else { "were" });
        (self.samples > 0 && !self.suffice()).then(|| {
            // A sample stands for the time since the one before, which may be more than others were blocked for.
            let covered = Some(self.covered()).filter(|covered| *covered < 1.0);
            let of_time = covered.map(|covered| format!(" ({} of the time)", percent(covered))).unwrap_or_default();
            format!(
                "While {who} blocked others, only {samples} of it {were} taken{of_time}: too few to say what it did."
            )
        })
    }

    /// `For 94 % of the sampled time (114 samples), the threads that others waited for (`exec-*`) were in
    /// `Thread.sleep`.` of these threads; with the verb.
    pub fn text_of(&self, threads_were: &str) -> Option<String> {
        let (doing, part) = self.most()?;
        let (samples, part) = (self.samples_text(), percent(part));
        Some(format!(
            "For {part} of the sampled time ({samples}), {threads_were} {}{}.",
            doing.text(""),
            doing.below("")
        ))
    }

    /// `For 69 % of the sampled time (2,193 samples), the threads that others waited for were `report-*`, mostly in
    /// `Thread.sleep`.` of these threads, which are such a part of all whose samples there are.
    pub fn text_among(&self, threads_were_these: &str, (part, samples): (f64, u64)) -> Option<String> {
        let (doing, of_them) = self.most()?;
        let (samples, part) = (self.samples_of(samples), percent(part));
        let how_often = if of_them >= MOSTLY { "mostly" } else { "often" };
        let (doing, below) = (doing.text(""), doing.below(""));
        Some(format!("For {part} of the sampled time ({samples}), {threads_were_these}, {how_often} {doing}{below}."))
    }

    /// `While `Web.priceSync` blocked others, it was in `Thread.sleep`, called from `Web.remotePrice`, for 98 % of the
    /// time (estimated from 40 samples).` `who` had it, or made it.
    pub fn text(&self, who: &str) -> Option<String> {
        self.text_about(&Who::method(who))
    }

    /// The same of a thread, or of several.
    pub fn text_about(&self, whose: &Who) -> Option<String> {
        let (who, (doing, part)) = (whose.name.as_str(), self.most()?);
        let (doing, below) = (doing.text(who), doing.below(who));
        let doing = format!("{doing}{below}");
        let comma = if doing.contains(", ") { "," } else { "" };
        let blocked_others = format!("While {who} blocked others, it was {doing}{comma} for");
        if self.is_by_parks() {
            let part = percent((part * share(self.ns, self.waiting_for)).min(1.0));
            return Some(format!("{blocked_others} {part} of the time."));
        }
        let part = percent(part);
        let samples = grouped(self.samples);
        if self.waiting_for > 0 {
            let covered = share(self.ns, self.waiting_for);
            return Some(match covered < COVERED {
                true => {
                    let covered = percent(covered);
                    format!(
                        "{blocked_others} {part} of the sampled time ({samples} samples, which cover {covered} of the \
                         time for which it blocked others)."
                    )
                }
                false => format!("{blocked_others} {part} of the time (estimated from {samples} samples)."),
            });
        }
        Some(format!("For {part} of the sampled time ({}), {} {doing}.", self.samples_text(), whose.was()))
    }

    /// The same without numbers, if it is most of what was sampled: `mostly in `Thread.sleep``, `often` where that is not
    /// half of all the time.
    pub fn mostly(&self, who: &str) -> Option<String> {
        let (doing, part) = self.most().filter(|(_, part)| *part >= MOSTLY)?;
        let of_all = part * self.covered().min(1.0) * self.part.unwrap_or(1.0);
        // What is known of a small part of the waits says nothing of the others.
        if self.waiting_for == 0 && of_all < OFTEN {
            return None;
        }
        let how_often = if of_all >= MOSTLY { "mostly" } else { "often" };
        Some(format!("{how_often} {}", doing.text(who)))
    }

    /// Where threads were for longest in a call of the application: that, for how long, and in how many of all samples.
    /// Threads that wait for events or connections are left out: they are idle, and those that are known to be.
    pub fn longest_call(&self, is_idle: impl Fn(&Doing, u64) -> bool) -> Option<(String, u64, u64)> {
        let is_called = |doing: &Doing| {
            !doing.call.is_empty() && !doing.inner.is_empty() && !doing.is_select() && !doing.is_accept()
        };
        let called = self.by.iter().filter(|(doing, ns)| is_called(doing) && !is_idle(doing, **ns));
        let (doing, ns) = called.max_by(|(a, a_ns), (b, b_ns)| a_ns.cmp(b_ns).then_with(|| b.cmp(a)))?;
        let samples = (share(*ns, self.ns) * self.samples as f64).round() as u64;
        Some((format!("{}{}", doing.text(""), doing.below("")), *ns, samples))
    }

    /// True if what was mostly done was to wait for events.
    pub fn are_idle(&self) -> bool {
        self.most().is_some_and(|(doing, part)| part >= MOSTLY && doing.is_select())
    }

    /// The numbers behind it.
    pub fn evidence(&self) -> Option<Evidence> {
        let (_, part) = self.most()?;
        let coverage = share(self.ns, self.waiting_for).min(1.0);
        let what = if self.is_by_parks() { "parks" } else { "samples" };
        let quality = if self.parked == self.ns { Quality::Exact } else { Quality::Estimated };
        let coverage = (self.waiting_for > 0).then_some(coverage);
        Some(Evidence { quality, coverage, ..Evidence::exact(what, self.ns, Some(part)) })
    }
}

/// What owners of locks did, by group of locks and method that had the lock.
#[derive(Default)]
pub(super) struct OfLocks(FxHashMap<usize, FxHashMap<String, Doings>>);

impl OfLocks {
    /// From what is in the report already.
    pub fn new(analysis: &Analysis, report: &Report, grounds: &Grounds<'_>) -> OfLocks {
        let mut of_locks = OfLocks::default();
        if report.owner_activity.is_empty() {
            return of_locks;
        }
        let locks = analysis.aggregate.locks();
        let places: FxHashMap<String, usize> = locks
            .iter()
            .filter_map(|totals| Some((analysis.names.lock_text(totals.lock), grounds.groups.place(totals.lock)?)))
            .collect();
        for activity in report.owner_activity.iter().filter(|activity| activity.sampled_ns > 0) {
            let Some(place) = places.get(&activity.lock) else { continue };
            let of_place = of_locks.0.entry(*place).or_default();
            add(of_place.entry(activity.owner_method.clone()).or_default(), activity);
        }
        of_locks
    }

    /// While this method (its full name) had the lock.
    pub fn get(&self, place: usize, method: &str) -> Option<&Doings> {
        self.0.get(&place)?.get(method)
    }
}

fn add(doings: &mut Doings, activity: &OwnerActivity) {
    doings.samples += activity.samples_taken;
    doings.waiting_for += activity.blocked_ns;
    doings.parked += activity.parked_ns;
    for path in &activity.stacks {
        if let Some(doing) = Doing::of(path.stack.iter().map(String::as_str), true) {
            doings.add(doing, (path.share * activity.sampled_ns as f64).round() as u64, 0);
        }
    }
}

/// `pkg.Class.method` of `pkg.Class.method:12`.
pub(super) fn without_line(frame: &str) -> &str {
    match frame.rsplit_once(':') {
        Some((method, line)) if line.bytes().all(|byte| byte.is_ascii_digit()) => method,
        _ => frame,
    }
}

/// `Class.method` of `pkg.Class.method`.
pub(super) fn short(full: &str) -> String {
    let (class, method) = full.rsplit_once('.').unwrap_or(("", full));
    let class = class.rsplit('.').next().unwrap_or(class);
    if class.is_empty() {
        method.to_owned()
    } else {
        format!("{class}.{method}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doing(frames: &str) -> Option<Doing> {
        Doing::of(frames.split(' '), false)
    }

    #[test]
    fn the_innermost_method_of_the_application_and_what_it_called() {
        let slept = doing("java.lang.Thread.sleep:-2 java.lang.Thread.sleep:5 a.Web.remotePrice:12 a.Web.priceSync:9");
        assert_eq!(slept.clone().unwrap().text("`Web.priceSync`"), "in `Thread.sleep`, called from `Web.remotePrice`");
        assert_eq!(slept.clone().unwrap().text("`Web.remotePrice`"), "in `Thread.sleep`");
        assert_eq!(slept.unwrap().outer, "Web.priceSync");
        let computed = doing("a.Web.compute:3 a.Web.priceSync:9").unwrap();
        assert_eq!(computed.text(""), "in `Web.compute`");
        assert_eq!(computed.text("`Web.compute`"), "in its own code");
        assert_eq!(doing("read libc_read java.net.Socket.read:1").unwrap().text(""), "in `Socket.read`");
        assert_eq!(doing("read"), None);
    }

    #[test]
    fn what_a_library_called_is_named_with_the_method_that_called_the_library() {
        let through = "java.net.Socket.read:1 java.net.Socket.in:2 org.apache.http.Pool.get:3 a.Weather.ask:4";
        let read = doing(through).unwrap();
        assert_eq!(read.text(""), "in `Socket.in`, called through a library from `Weather.ask`");
        let executes = doing("org.apache.http.Parser.next:1 org.apache.http.Pool.get:3 a.Weather.ask:4").unwrap();
        assert_eq!(executes.text(""), "in `Parser.next`, called through a library from `Weather.ask`");
        let direct = doing("org.apache.http.Parser.next:1 a.Weather.ask:4").unwrap();
        assert_eq!(direct.text(""), "in `Parser.next`, called from `Weather.ask`");
        let further =
            doing("java.lang.Thread.sleep:1 a.Remote.call:2 org.apache.http.Pool.get:3 a.Weather.ask:4").unwrap();
        assert_eq!(further.text(""), "in `Thread.sleep`, called from `Remote.call` < … < `Weather.ask`");
        // Where all of it is a library's, it is the application.
        let broker =
            doing("java.net.Socket.read:1 org.apache.kafka.Log.append:3 org.apache.kafka.Server.run:4").unwrap();
        assert_eq!(broker.text(""), "in `Socket.read`, called from `Log.append` < `Server.run`");
    }

    #[test]
    fn what_the_owner_called_is_named_between_itself_and_where_it_was() {
        let stack = "java.lang.Thread.sleep a.Work.remote a.Orders.audit a.Orders.order".split(' ');
        let doing = Doing::of(stack.clone(), true).unwrap();
        assert_eq!((doing.inner.as_str(), doing.outer.as_str()), ("Work.remote", "Orders.audit"));
        assert_eq!(Doing::of(stack, false).unwrap().outer, "Orders.order");
        let of_map = "java.lang.Thread.sleep a.Work.remote a.Users.load java.util.Map.computeIfAbsent".split(' ');
        assert_eq!(Doing::of(of_map, true).unwrap().next, "Users.load");
        assert_eq!(Doing::of(["a.Orders.order"].into_iter(), true).unwrap().outer, "Orders.order");
    }

    #[test]
    fn what_the_jdk_does_with_a_lock_is_what_its_owner_called() {
        let of = |stack: &str| Doing::of(stack.split(' '), true).unwrap().text("`Loader.loadClass`");
        assert_eq!(of("java.lang.Loader.loadClass"), "in its own code");
        assert_eq!(of("java.io.File.read java.util.Zip.find java.lang.Loader.loadClass"), "in `Zip.find`");
    }

    #[test]
    fn what_is_outside_of_the_vm_is_named_though_only_the_jdk_is_on_the_stack() {
        let of = |stack: &str| Doing::of(stack.split(' '), true).unwrap().text("`PrintStream.writeln`");
        let write = "libc_write java.io.FileOutputStream.writeBytes:-2 java.io.FileOutputStream.write:354";
        let flush = "java.io.BufferedOutputStream.flush:1 java.io.OutputStreamWriter.flushBuffer:178";
        assert_eq!(
            of(&format!("{write} {flush} java.io.PrintStream.writeln:730")),
            "in `FileOutputStream.write`, called through a library from `OutputStreamWriter.flushBuffer`"
        );
        assert_eq!(of(&format!("{write} java.io.PrintStream.writeln:730")), "in `FileOutputStream.write`");
    }

    #[test]
    fn only_what_was_seen_often_is_said() {
        let mut doings = Doings::default();
        doings.add(doing("java.lang.Thread.sleep a.A.slow a.A.serve").unwrap(), 60, 4);
        assert_eq!(doings.text("`A.serve`"), None);
        doings.add(doing("a.A.other a.A.serve").unwrap(), 20, 2);
        let text = doings.text("`A.serve`").unwrap();
        assert_eq!(
            text,
            "For 75 % of the sampled time (6 samples), `A.serve` was in `Thread.sleep`, called from `A.slow`."
        );
        let whole = doings.text("`pool-1`").unwrap();
        assert_eq!(whole, "For 75 % of the sampled time (6 samples), `pool-1` was in `Thread.sleep`, called from `A.slow` < `A.serve`.");
        assert!(doings.evidence().is_some_and(|evidence| evidence.quality == Quality::Estimated));
        // 80 ns of samples stand for too little of so long a time.
        doings.waiting_for = 2_000;
        assert!(doings.text("`A.serve`").is_none() && doings.evidence().is_none());
        doings.waiting_for = 80;
        let text =
            "While `A.serve` blocked others, it was in `Thread.sleep`, called from `A.slow`, for 75 % of the time (estimated \
             from 6 samples).";
        assert_eq!(doings.text("`A.serve`").unwrap(), text);
        assert_eq!(doings.too_few("`A.serve`"), None);
    }

    #[test]
    fn few_samples_of_a_part_of_the_time_say_nothing() {
        let mut doings = Doings { waiting_for: 1_600, ..Doings::default() };
        doings.add(doing("java.lang.Thread.sleep a.A.slow a.A.serve").unwrap(), 60, 6);
        doings.add(doing("a.A.other a.A.serve").unwrap(), 20, 3);
        assert!(doings.text("`A.serve`").is_none() && doings.mostly("`A.serve`").is_none());
        assert!(doings.evidence().is_none());
        let said =
            "While `A.serve` blocked others, only 9 samples of it were taken (5.0 % of the time): too few to say what \
                    it did.";
        assert_eq!(doings.too_few("`A.serve`").unwrap(), said);
        let one = Doings { waiting_for: 60, samples: 1, ns: 80, ..Doings::default() };
        let said = "While `A.serve` blocked others, only 1 sample of it was taken: too few to say what it did.";
        assert_eq!(one.too_few("`A.serve`").unwrap(), said);
        doings.samples = 20;
        let text = doings.text("`A.serve`").unwrap();
        assert_eq!(
            text,
            "While `A.serve` blocked others, it was in `Thread.sleep`, called from `A.slow`, for 75 % of the sampled time \
             (20 samples, which cover 5.0 % of the time for which it blocked others)."
        );
        assert_eq!(doings.too_few("`A.serve`"), None);
    }
}
