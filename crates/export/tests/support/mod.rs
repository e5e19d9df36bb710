//! Profiles to export, written as text; programs that read them.
#![allow(dead_code)] // Each test binary uses its part.

use headway_analysis::method::{Measure, Profile, ProfileOptions, Profiler};
use headway_export::{Format, Style};
use headway_model::event::*;
use headway_model::stack::{ChainDef, Frame};
use headway_model::{CallChain, ChainId, DurationNs, Event, FrameKind, Method, MethodId, ThreadId, TimeNs};
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

pub const MS: u64 = 1_000_000;
/// A moment of 2026, since the recording's clock is the calendar's.
pub const START: u64 = 1_790_000_000_000_000_000;

/// Names that would break a careless format.
pub const NASTY: &str = "</script><img src=x onerror=alert(1)>;\"quoted\" & 'single' \u{1f600} a b";

/// The events of samples: thread, stack from the root to the leaf, weight in
/// ms. `~` in front marks a waiting thread.
pub fn samples(list: &[(&str, &[&str], u64)]) -> Vec<Event> {
    let info =
        RecordingInfo { start: TimeNs(START), java_arguments: "shop.Main --serve".into(), ..RecordingInfo::default() };
    let mut events = vec![Event::Recording(Arc::new(info))];
    let mut names: HashMap<&str, usize> = HashMap::new();
    for (index, (thread, stack, weight)) in list.iter().enumerate() {
        let (waiting, thread_name) = thread.strip_prefix('~').map_or((false, *thread), |name| (true, name));
        let id = ThreadId(1 + thread_name.bytes().map(u64::from).sum::<u64>());
        let os_id = id.0 as u32;
        events.push(Event::Thread(ThreadDef { id, os_id, name: thread_name.into(), ..ThreadDef::default() }));
        let mut frames = Vec::new();
        for name in stack.iter().rev() {
            let next = names.len();
            let number = *names.entry(name).or_insert(next);
            let method = MethodId(1 + number as u64);
            let (class, name) = name.rsplit_once('.').unwrap_or(("", name));
            let def =
                Method { class: class.into(), name: name.into(), source_file: "Shop.java".into(), ..Method::default() };
            events.push(Event::Method(method, Arc::new(def)));
            frames.push(Frame {
                method,
                bci: 0,
                line: 10 + number as u32,
                kind: FrameKind::Compiled,
                approximate: false,
            });
        }
        let chain = ChainId(1 + index as u64);
        let state = if waiting { SampleState::Waiting } else { SampleState::Java };
        events.push(Event::Chain(Arc::new(ChainDef { id: chain, chain: CallChain { frames, truncated: false } })));
        let (time, weight) = (TimeNs(START + (1 + index as u64) * 10 * MS), DurationNs(weight * MS));
        events.push(Event::Sample(Sample { time, thread: id, chain, state, weight, cpu: None }));
    }
    events
}

/// A profile of such events, with its moments.
pub fn profile(list: &[(&str, &[&str], u64)], options: ProfileOptions) -> Profile {
    let mut profiler = Profiler::new(ProfileOptions { moments: 1000, ..options });
    samples(list).iter().for_each(|event| profiler.feed(event));
    profiler.finish()
}

/// A shop that sells and rebuilds its index.
pub fn shop(measure: Measure) -> Profile {
    let serve = "shop.Server.serve";
    let list: [(&str, &[&str], u64); 5] = [
        ("main", &[serve, "shop.Stock.rebuild", "shop.Stock.sort"], 30),
        ("main", &[serve, "shop.Stock.rebuild", "memmove"], 10),
        ("worker", &[serve, "shop.Stock.sell"], 15),
        ("main", &[serve, "shop.Stock.rebuild", "shop.Stock.sort"], 5),
        ("~worker", &[serve, "java.lang.Object.wait"], 100),
    ];
    profile(&list, ProfileOptions { measure, ..ProfileOptions::default() })
}

/// The bytes of a profile in a format.
pub fn written(format: Format, profile: &Profile) -> Vec<u8> {
    let mut out = Vec::new();
    let style = Style { title: format!("shop {NASTY}"), count_samples: false };
    format.write(profile, &style, "a", &mut out).unwrap();
    out
}

/// A program that reads a format, or `None` with a word about it. With
/// `CI=true` that is a failure.
pub fn consumer(name: &str) -> Option<PathBuf> {
    let places = std::env::var_os("PATH").unwrap_or_default();
    let mut directories: Vec<PathBuf> = std::env::split_paths(&places).collect();
    directories.push("/usr/local/go/bin".into());
    let found = directories.into_iter().map(|directory| directory.join(name)).find(|path| path.is_file());
    if found.is_none() {
        eprintln!("{name} is missing: this test did not run");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{name} is missing");
    }
    found
}

/// The browser that `HEADWAY_CHROMIUM` names, or else Chromium.
pub fn browser() -> Option<PathBuf> {
    match std::env::var_os("HEADWAY_CHROMIUM").filter(|named| !named.is_empty()) {
        Some(named) => Some(named.into()),
        None => consumer("chromium"),
    }
}

/// What a program that ends well says.
#[track_caller]
pub fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}\n{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}
