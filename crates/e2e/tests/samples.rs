//! Samples of programs that know their own stacks: complete, possible, and in
//! the right proportion.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::jdk::Jdk;
use headway_e2e::sampled::{self, Sample};
use headway_e2e::tools::{self, Tools};
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// What `samples` says of itself.
#[derive(Deserialize)]
struct Truth {
    /// `caller callee`, by method name.
    calls: Vec<String>,
    /// Calls of `descend` on the stack of thread `recursion`.
    depth: usize,
    /// Work of `heavy` and of `light` in thread `shares`.
    heavy: u64,
    light: u64,
    /// Calls of `down` on the stack of each virtual thread, by its id.
    #[serde(default)]
    turns: BTreeMap<String, usize>,
}

struct Run {
    truth: Truth,
    samples: Vec<Sample>,
    losses: String,
    what: String,
}

/// How long the program runs, in seconds: the next time for longer if there are too few samples
/// in all runs so far, as where other programs have the CPUs.
const SECONDS: [&str; 4] = ["5", "10", "20", "40"];

/// What is recorded where nothing else is.
const CPU: &str = "events=cpu";

/// Samples of all shapes that are enough to judge parts of them. A quiet machine with two CPUs
/// takes several thousand in the shortest run.
const ENOUGH: usize = 600;

/// Runs the program with the agent until there are so many samples of its shapes, and gives all of
/// them together.
fn run(jdk: &Jdk, jvm_options: &[&str], agent_options: &str, program_options: &[&str], enough: usize) -> Run {
    let mut all: Option<Run> = None;
    for seconds in SECONDS {
        let run = run_with(jdk, jvm_options, agent_options, &[&["--seconds", seconds], program_options].concat());
        let pooled = match all {
            None => run,
            Some(before) => before.with(run),
        };
        if pooled.of_shapes().len() >= enough {
            return pooled;
        }
        all = Some(pooled);
    }
    all.unwrap()
}

fn run_with(jdk: &Jdk, jvm_options: &[&str], agent_options: &str, program_options: &[&str]) -> Run {
    let tools = Tools::find().unwrap();
    let directory = TempDir::new().unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (recording, truth) = (file("recording.jfr"), file("truth.json"));
    let agent = format!("-agentpath:{}=start,file={recording},interval=1000000,{agent_options}", tools.agent.display());
    let mut arguments = vec![agent.as_str()];
    arguments.extend(jvm_options);
    let jar = tools.workloads.display().to_string();
    arguments.extend(["-jar", &jar, "samples", "--truth", &truth]);
    arguments.extend(program_options);
    tools::run(&jdk.tool("java"), arguments).unwrap();
    let losses = tools::run(&jdk.tool("jfr"), ["print", "--events", "headway.Loss", &recording]).unwrap();
    Run {
        truth: serde_json::from_str(&fs::read_to_string(Path::new(&truth)).unwrap()).unwrap(),
        samples: sampled::read(jdk, &recording).unwrap(),
        losses: String::from_utf8_lossy(&losses.stdout).into_owned(),
        what: format!("JDK {} {jvm_options:?} {agent_options}", jdk.release),
    }
}

impl Run {
    /// This run and another one of the same program with the same options.
    fn with(mut self, other: Run) -> Run {
        assert_eq!((&self.truth.calls, self.truth.depth), (&other.truth.calls, other.truth.depth), "{}", self.what);
        self.truth.heavy += other.truth.heavy;
        self.truth.light += other.truth.light;
        self.samples.extend(other.samples);
        self.losses += &other.losses;
        self
    }

    /// How many samples a cause dropped, as `jfr print` shows it.
    fn dropped(&self, cause: &str) -> usize {
        let cause = format!("cause = \"{cause}\"");
        let counts = self.losses.split(&cause).skip(1);
        // Next is `count = 93`.
        counts.map(|rest| rest.split_whitespace().nth(2).unwrap().parse::<usize>().unwrap()).sum()
    }

    fn of_shapes(&self) -> Vec<&Sample> {
        self.by_shape().into_values().flatten().collect()
    }

    /// Samples by the shape they are of.
    fn by_shape(&self) -> BTreeMap<&str, Vec<&Sample>> {
        let mut shapes: BTreeMap<&str, Vec<&Sample>> = BTreeMap::new();
        for shape in ["recursion", "shares", "exceptions", "calls", "allocation", "relay"] {
            shapes.insert(shape, self.samples.iter().filter(|sample| sample.thread == shape).collect());
        }
        shapes
    }

    /// At most so large a part of the samples is not complete. Of few samples some more may be so by
    /// chance: three standard deviations of their number.
    fn are_complete(&self, at_least: f64) {
        let of_shapes = self.of_shapes();
        let complete = of_shapes.iter().filter(|sample| sample.is_complete()).count();
        println!("{}: {complete} of {} complete", self.what, of_shapes.len());
        assert!(of_shapes.len() >= 30, "{}: only {} samples", self.what, of_shapes.len());
        let expected = (1.0 - at_least) * of_shapes.len() as f64;
        let cut_off = (of_shapes.len() - complete) as f64;
        let allowed = expected + 3.0 * expected.sqrt();
        assert!(cut_off <= allowed, "{}: {complete} of {} complete\n{}", self.what, of_shapes.len(), self.losses);
    }

    /// No frame that was not there: what stands above a method was called by it.
    fn are_possible(&self) {
        let calls: HashSet<&str> = self.truth.calls.iter().map(String::as_str).collect();
        for sample in self.by_shape().into_values().flatten() {
            for pair in sample.frames.windows(2) {
                if let (Some(callee), Some(caller)) = (Sample::shape(&pair[0]), Sample::shape(&pair[1])) {
                    let call = format!("{caller} {callee}");
                    assert!(calls.contains(call.as_str()), "{}: {call}\n{:#?}", self.what, sample.frames);
                }
            }
        }
    }

    fn recursion_is_as_deep_as_it_was(&self) {
        let recursion = &self.by_shape()["recursion"];
        let burning: Vec<&&Sample> =
            recursion.iter().filter(|sample| sample.is_complete() && sample.count("burn") == 1).collect();
        assert!(burning.len() >= 3, "{}: {} samples at the bottom", self.what, burning.len());
        for sample in burning {
            assert_eq!(sample.count("descend"), self.truth.depth, "{}: {:#?}", self.what, sample.frames);
        }
    }

    fn shares_are_right(&self) {
        let shares = &self.by_shape()["shares"];
        let heavy = shares.iter().filter(|sample| sample.count("heavy") == 1).count() as f64;
        let all = heavy + shares.iter().filter(|sample| sample.count("light") == 1).count() as f64;
        let expected = self.truth.heavy as f64 / (self.truth.heavy + self.truth.light) as f64;
        let deviation = (expected * (1.0 - expected) / all.max(1.0)).sqrt();
        let share = heavy / all.max(1.0);
        let allowed = 4.0 * deviation + 0.03;
        assert!((share - expected).abs() <= allowed, "{}: {share} of {all}, not {expected}", self.what);
    }

    fn check(&self, complete: f64) {
        self.are_complete(complete);
        self.are_possible();
        self.recursion_is_as_deep_as_it_was();
        self.shares_are_right();
    }
}

/// What the VM does without options is looked at on every JDK, with some on two of the three.
fn check(jdks: Vec<Jdk>, jvm_options: &[&str], agent_options: &str, complete: f64) {
    for jdk in jdks {
        run(&jdk, jvm_options, agent_options, &[], ENOUGH).check(complete);
    }
}

#[test]
fn tiered_code_is_decoded() {
    check(Jdk::all(), &[], CPU, 0.99);
}

#[test]
fn interpreted_code_is_decoded() {
    check(Jdk::all_but(17), &["-Xint"], CPU, 0.99);
}

/// Deeper than what is copied of a thread's stack at first.
#[test]
fn deep_stacks_are_copied_whole() {
    for jdk in Jdk::all_but(25) {
        run(&jdk, &["-Xint"], CPU, &["--depth", "300"], ENOUGH).check(0.98);
    }
}

#[test]
fn c1_code_is_decoded() {
    check(Jdk::all_but(21), &["-XX:TieredStopAtLevel=1"], CPU, 0.99);
}

#[test]
fn code_without_inlining_is_decoded() {
    check(Jdk::all_but(25), &["-XX:-Inline"], CPU, 0.99);
}

/// A compiled method calls one that is not by a stub in its own code.
#[test]
fn calls_of_methods_that_are_not_compiled_are_decoded() {
    let exclude = "-XX:CompileCommand=exclude,io.headway.workloads.samples.Shapes$Relay::step";
    check(Jdk::all_but(17), &["-XX:CompileCommand=quiet", exclude], CPU, 0.99);
    check(Jdk::all_but(21), &["-XX:CompileCommand=quiet", exclude, "-XX:TieredStopAtLevel=1"], CPU, 0.99);
}

#[test]
fn other_collectors_are_decoded() {
    check(Jdk::all_but(25), &["-XX:+UseParallelGC"], CPU, 0.99);
    check(Jdk::all(), &["-XX:+UseZGC"], CPU, 0.99);
}

#[test]
fn timers_take_the_place_of_perf() {
    check(Jdk::all_but(17), &[], "events=cpu,disable=perf", 0.98);
}

/// Virtual threads take turns that are shorter than a copy waits to be decoded.
/// Each has a depth of its own, so that its stack says who it was.
#[test]
fn samples_of_carriers_name_the_virtual_thread_that_ran() {
    for jdk in Jdk::all().into_iter().filter(|jdk| jdk.release >= 21) {
        let (mut right, mut all, mut said) = (0, 0, String::new());
        // For longer where other programs have the CPUs.
        for turns in ["3", "6", "12", "24"] {
            let run = run_with(&jdk, &[], CPU, &["--seconds", "1", "--turns", turns]);
            let in_turn = run.samples.iter().filter(|sample| sample.count("turn") > 0 && is_of_one_moment(sample));
            for sample in in_turn {
                all += 1;
                if let Some(id) = sample.thread.strip_prefix("virtual-") {
                    let (depth, what) = (sample.count("down"), &run.what);
                    assert_eq!(run.truth.turns.get(id), Some(&depth), "{what}: {id}\n{:#?}", sample.frames);
                    right += 1;
                }
            }
            said = format!("{}: {right} of {all} samples have a virtual thread\n{}", run.what, run.losses);
            if all >= 200 {
                break;
            }
        }
        println!("{}", said.lines().next().unwrap_or_default());
        assert!(all >= 30 && right * 10 >= all * 9, "{said}");
    }
}

/// Its caller may be on the heap still, behind the return barrier.
#[test]
fn a_virtual_thread_that_works_in_the_frame_it_yielded_in_is_decoded() {
    for jdk in Jdk::all().into_iter().filter(|jdk| jdk.release >= 21) {
        let run = run_with(&jdk, &["-XX:TieredStopAtLevel=1"], CPU, &["--seconds", "1", "--turns", "6"]);
        let staying = run.samples.iter().filter(|sample| sample.count("stay") > 0).count();
        let undecodable = run.dropped("sample_undecodable");
        let said = format!("{}: {staying} samples, {undecodable} of others could not be decoded", run.what);
        println!("{said}");
        assert!(staying >= 20 && undecodable * 20 <= staying, "{said}");
    }
}

/// Frames that were in the heap are read when the copy is decoded: those of a
/// thread that yielded meanwhile begin with its yielding.
fn is_of_one_moment(sample: &Sample) -> bool {
    let is_whole = sample.frames.iter().any(|frame| frame.contains("VirtualThread"));
    is_whole && !sample.frames.iter().any(|frame| frame.ends_with("Thread.yield"))
}

/// Samples for which the VM is asked know no native code and come where the VM
/// can stop a thread; what they show must be true all the same.
fn check_engine(jdks: Vec<Jdk>, engine: &str) {
    for jdk in jdks {
        let run = run(&jdk, &[], &format!("strict,{CPU},engine={engine}"), &[], 100);
        assert!(run.of_shapes().len() >= 30, "{}: too few samples", run.what);
        run.are_possible();
        let recursion = &run.by_shape()["recursion"];
        let deep = recursion.iter().filter(|sample| sample.is_complete() && sample.count("burn") == 1);
        for sample in deep {
            assert_eq!(sample.count("descend"), run.truth.depth, "{}: {:#?}", run.what, sample.frames);
        }
    }
}

#[test]
fn the_vm_tells_chains_to_a_signal_s_handler() {
    check_engine(Jdk::all_but(25), "agct");
}

#[test]
fn the_vm_tells_the_stacks_of_all_threads_that_ran() {
    check_engine(Jdk::all_but(17), "jvmti");
}

#[test]
fn the_vm_tells_the_stacks_of_running_threads_one_by_one() {
    check_engine(Jdk::all_but(21), "handshake");
}
