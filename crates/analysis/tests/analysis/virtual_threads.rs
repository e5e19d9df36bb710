//! Virtual threads: mount delays, pins, carriers.

use crate::story::{chain, method, recording, thread};
use headway_analysis::report::{PinReason, VirtualThreadsReport};
use headway_analysis::{Analysis, Options};
use headway_model::event::*;
use headway_model::{ChainId, Event, LockId, MethodId, ThreadId, TimeNs};
use std::sync::Arc;

const MS: u64 = 1_000_000;
const CARRIER: ThreadId = ThreadId(1);
const VIRTUAL: ThreadId = ThreadId(2);

fn at(ms: u64) -> TimeNs {
    TimeNs((1_000 + ms) * MS)
}

fn carrier() -> Event {
    let name = "ForkJoinPool-1-worker-1".into();
    Event::Thread(ThreadDef {
        id: CARRIER,
        name,
        group: "CarrierThreads".into(),
        is_service: true,
        ..ThreadDef::default()
    })
}

fn analyse(java: &str, events: impl IntoIterator<Item = Event>) -> Option<VirtualThreadsReport> {
    let mut analysis = Analysis::new(Options::default());
    let Event::Recording(info) = recording(at(0)) else { unreachable!("a recording") };
    let info = RecordingInfo { jvm_version: java.to_owned(), ..RecordingInfo::clone(&info) };
    analysis.feed(&Event::Recording(Arc::new(info)));
    analysis.feed(&carrier());
    analysis.feed(&thread(2, "request-1"));
    events.into_iter().for_each(|event| analysis.feed(&event));
    analysis.feed(&Event::Watermark(at(100)));
    analysis.finish().virtual_threads
}

fn mount(unparked: u64, ready: u64, time: u64) -> Event {
    let (time, unparked, ready) = (at(time), at(unparked), at(ready));
    Event::VirtualMount(VirtualMount {
        time,
        unparked,
        ready,
        thread: VIRTUAL,
        carrier: CARRIER,
        blocker: LockId::NONE,
    })
}

fn pin(start: u64, time: u64, chain: u64) -> Event {
    let (time, start, chain) = (at(time), at(start), ChainId(chain));
    Event::VirtualPinned(VirtualPinned { time, start, thread: VIRTUAL, carrier: CARRIER, chain, monitor_frame: None })
}

#[test]
fn a_mount_delay_is_waiting_for_a_cpu_and_then_for_a_carrier() {
    let found = analyse("21", [mount(10, 10, 20), mount(30, 33, 34), mount(50, 57, 57)]).unwrap();
    assert_eq!((found.mounts, found.mount_delay_ns, found.max_mount_delay_ns), (3, 21 * MS, 10 * MS));
    assert_eq!((found.waiting_for_carrier_ns, found.waiting_for_cpu_ns), (11 * MS, 10 * MS));
    assert_eq!(found.occupied_ns, None, "parks of carriers are not recorded");
}

#[test]
fn a_carrier_is_occupied_while_it_does_not_park() {
    let start = |time| Event::ThreadStart(ThreadPoint { time, thread: CARRIER });
    let park = |from, to| Event::Park(Park { start: at(from), time: at(to), thread: CARRIER, ..Park::default() });
    let open = ParkBegin { time: at(90), thread: CARRIER, ..ParkBegin::default() };
    let found = analyse("21", [start(at(0)), park(10, 40), Event::ParkBegin(open)]).unwrap();
    assert_eq!((found.carriers, found.carriers_ns), (1, 100 * MS));
    assert_eq!(found.occupied_ns, Some(60 * MS));
}

/// A method with access flags.
fn flagged(id: u64, class: &str, name: &str, access_flags: u32) -> Event {
    let Event::Method(_, def) = method(id, class, name) else { unreachable!("a method") };
    Event::Method(MethodId(id), Arc::new(headway_model::stack::Method { access_flags, ..(*def).clone() }))
}

#[test]
fn the_frame_that_pins_is_named_where_it_is_known() {
    let stacks = || {
        vec![
            flagged(1, "jdk.internal.misc.Unsafe", "park", 0x100),
            flagged(2, "com.acme.Cache", "get", 0x20),
            flagged(3, "com.acme.Native", "callback", 0x100),
            method(4, "com.acme.Config", "<clinit>"),
            method(5, "com.acme.Plain", "run"),
            chain(1, &[(1, 0), (2, 7), (3, 0), (5, 1)]),
            chain(2, &[(1, 0), (5, 1), (3, 0)]),
            chain(3, &[(1, 0), (5, 1), (4, 3)]),
            chain(4, &[(1, 0), (5, 1)]),
        ]
    };
    let pins = || [pin(0, 40, 1), pin(40, 70, 2), pin(70, 90, 3), pin(90, 95, 4), pin(95, 98, 4)];
    let of = |java| {
        let found = analyse(java, stacks().into_iter().chain(pins())).unwrap();
        assert_eq!((found.pinned, found.pinned_ns), (5, 98 * MS));
        let named = |pin: headway_analysis::report::PinSite| (pin.frame.unwrap_or_default(), pin.reason, pin.count);
        found.pins.into_iter().map(named).collect::<Vec<_>>()
    };
    let native = || ("com.acme.Native.callback".to_owned(), Some(PinReason::Native), 1);
    let rest = || {
        let initializer = ("com.acme.Config.<clinit>:3".to_owned(), Some(PinReason::ClassInitializer), 1);
        [native(), initializer, (String::new(), None, 2)]
    };
    let held = ("com.acme.Cache.get:7".to_owned(), Some(PinReason::Synchronized), 1);
    assert_eq!(of("21.0.2"), std::iter::once(held).chain(rest()).collect::<Vec<_>>());
    assert_eq!(of("25"), std::iter::once(native()).chain(rest()).collect::<Vec<_>>(), "monitors do not pin");
}

#[test]
fn the_method_whose_synchronized_block_pins_is_named() {
    let stacks = vec![
        method(1, "com.acme.Gate", "pass"),
        flagged(2, "com.acme.Cache", "get", 0x20),
        method(5, "com.acme.Plain", "run"),
        chain(1, &[(1, 7), (5, 1)]),
        chain(2, &[(2, 7), (5, 1)]),
    ];
    let pin_at = |start, time, chain, frame| {
        let Event::VirtualPinned(pinned) = pin(start, time, chain) else { unreachable!("a pin") };
        Event::VirtualPinned(VirtualPinned { monitor_frame: frame, ..pinned })
    };
    let of = |java| {
        let pins = [pin_at(0, 40, 1, Some(1)), pin_at(40, 60, 2, Some(0))];
        let found = analyse(java, stacks.clone().into_iter().chain(pins)).unwrap();
        let named = |pin: headway_analysis::report::PinSite| (pin.frame.unwrap_or_default(), pin.reason);
        found.pins.into_iter().map(named).collect::<Vec<_>>()
    };
    let block = ("com.acme.Plain.run:1".to_owned(), Some(PinReason::SynchronizedBlock));
    let method = ("com.acme.Cache.get:7".to_owned(), Some(PinReason::Synchronized));
    assert_eq!(of("21.0.2"), [block, method]);
    assert_eq!(of("25"), [(String::new(), None), (String::new(), None)], "monitors do not pin");
}

/// Virtual threads are seen when they run: of those that were blocked all the time nothing is known.
#[test]
fn where_there_are_virtual_threads_nobody_is_said_to_be_free_of_locks() {
    let said = |carriers: &[Event]| {
        let mut analysis = Analysis::new(Options::default());
        analysis.feed(&recording(at(0)));
        analysis.feed(&thread(2, "main"));
        carriers.iter().for_each(|event| analysis.feed(event));
        analysis.feed(&Event::Watermark(at(100)));
        analysis.finish().findings.remove(0).text
    };
    let nobody = "No thread was blocked on a monitor in 100 ms (1 application thread).";
    assert_eq!(said(&[]), nobody);
    let text = said(&[carrier()]);
    assert!(text.starts_with(nobody) && text.contains("blocked before the recording began"), "{text}");
}
