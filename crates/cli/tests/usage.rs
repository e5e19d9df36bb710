//! What can be typed wrongly: one sentence each, and exit code 2.

#![allow(clippy::expect_used)] // A panic in a test is a failed test.

mod support;

use support::{headway, refuses, said};

/// Every mistake that is reported in a sentence of our own.
const MISTAKES: [(&[&str], &str); 44] = [
    (&["reprot", "a.jfr"], "there is no command \"reprot\"; did you mean \"report\"? (commands: list, run, record,"),
    (&["bonfire", "a.jfr"], "there is no command \"bonfire\" (commands: list, run, record,"),
    (&["4711"], "to record process 4711, say `headway record 4711`"),
    (&["report", "--topp", "3", "a.jfr"], "`headway report` has no option --topp; did you mean \"--top\"?"),
    (&["record", "--bogus", "1"], "`headway record` has no option --bogus (`headway record --help` shows its options)"),
    (&["diff", "a.jfr", "b.jfr", "c.jfr"], "\"c.jfr\" is one argument too many for `headway diff` (`headway diff --help`"),
    (&["view", "a.jfr", "b.jfr", "c.jfr"], "\"c.jfr\" is one argument too many for `headway view` (`headway view --help`"),
    (&["list", "all"], "\"all\" is one argument too many for `headway list` (`headway list --help` shows its arguments)"),
    (&["report", "--method=Shop.sell", "a.jfr"], "--method takes no value: leave \"Shop.sell\" out"),
    (&["--safe"], "--safe is an option of commands: write it after the command, as in `headway run --safe`"),
    (&["--bogus"], "there is no option --bogus (`headway --help` shows what there is)"),
    (
        &["report", "--by", "lock,owner-metod", "a.jfr"],
        "--by: unknown aspect \"owner-metod\"; did you mean \"owner-method\"?",
    ),
    (&["report", "--by", "lock,lock", "a.jfr"], "--by: the aspect lock is listed twice"),
    (&["report", "--by", "", "a.jfr"], "--by: unknown aspect \"\" (aspects: kind, lock-class, lock-name,"),
    (
        &["report", "--min-duration", "5 parsecs", "a.jfr"],
        "--min-duration: \"5 parsecs\" is not a time: write a number with ns, us, ms, s, m or h",
    ),
    (&["report", "--threads", "a(", "a.jfr"], "--threads: \"a(\" is not a regular expression: unclosed group"),
    (&["report", "--from", "yesterday", "a.jfr"], "--from: \"yesterday\" is not a time"),
    (&["report", "--top", "0", "a.jfr"], "--top: expected a whole number of at least 1, not 0"),
    (&["record", "-d", "0", "1"], "--duration: must be longer than 0"),
    (&["record", "-d", "soon", "1"], "--duration: \"soon\" is not a time"),
    (&["record", "-e", "montor", "1"], "--events: unknown event \"montor\"; did you mean \"monitor\"?"),
    (
        &["record", "-e", "lunch", "1"],
        "--events: unknown event \"lunch\" (this version records: monitor, park, lock (both of them), pressure, cpu, wall, steal, mounts)",
    ),
    (
        &["record", "--max-size", "huge", "1"],
        "--max-size: \"huge\" is not a size: write a number of bytes, or with k, m or g",
    ),
    (
        &["record", "-o", "a.html", "1"],
        "-o a.html: the extension picks the format, and recordings are .jfr, .jfr.zst or .jfr.lz4",
    ),
    (
        &["record", "--disable", "onwers", "1"],
        "--disable: unknown mechanism \"onwers\"; did you mean \"owners\"? (mechanisms: exit-detour, ",
    ),
    (&["run", "--disable", "walker,foo", "--", "true"], "--disable: unknown mechanism \"foo\" (mechanisms: exit-detour, "),
    (&["record", "-d", "99999999999999999999h", "1"], "--duration: \"99999999999999999999h\" is too long a time"),
    (&["record", "--max-size", "99999999999999g", "1"], "--max-size: \"99999999999999g\" is too large a size"),
    (&["record", "--max-size", "1k", "1"], "--max-size: must be at least 256k, or `none`"),
    (&["record", "--memory", "1", "1"], "--memory: must be at least 1m"),
    (&["run", "-o", "a-%h.jfr", "--", "true"], "-o a-%h.jfr: %h means nothing"),
    (&["record", ""], "\"\" is not a process id; `headway list` shows the running JVMs"),
    (&["record", "99999999999999"], "\"99999999999999\" is not a process id; `headway list` shows the running JVMs"),
    (
        &["export", "a.jfr", "-o", "a.xyz"],
        "-o a.xyz: recordings are exported to .jfr (plain), .jfr.zst and .jfr.lz4 (packed), profiles to .collapsed, ",
    ),
    (
        &["record"],
        "`headway record` needs PID|NAME: `headway list` shows the running JVMs, `headway record --help` shows its arguments and options",
    ),
    (&["report"], "`headway report` needs FILE: `headway report --help` shows its arguments and options"),
    (&["run"], "`headway run` needs COMMAND: `headway run --help` shows its arguments and options"),
    (&["causal", "run"], "`headway causal run` needs COMMAND"),
    (&["diff", "a.jfr"], "`headway diff` needs AFTER: "),
    (&["export", "a.jfr"], "`headway export` needs "),
    (&["report", "--top"], "--top needs a value (N): `headway report --help` explains it"),
    (&["report", "--from", "1s", "--from", "2s", "a.jfr"], "--from may be given only once"),
    (&["record", "--exact", "--budget", "1%", "1"], "--exact and --budget exclude each other: leave one of them out"),
    (
        &["record", "NoSuchMainClass"],
        "no running JVM matches \"NoSuchMainClass\"; `headway list` shows the running JVMs",
    ),
];

#[test]
fn mistakes_get_one_sentence_and_code_2() {
    for (arguments, sentence) in MISTAKES {
        // A target is looked for before the output's name is: give one.
        let own = std::process::id().to_string();
        let arguments = arguments.iter().map(|word| if *word == "1" { own.as_str() } else { word });
        refuses(&mut headway(arguments), 2, sentence);
    }
}

#[test]
fn without_a_command_there_is_help() {
    let said = said(&mut headway::<&str>([]));
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("Usage: headway"), "{}", said.stderr);
}

#[test]
fn every_command_has_help_with_examples() {
    let commands = "list run record start stop dump status report parks export completion man";
    for command in commands.split(' ') {
        let said = said(&mut headway([command, "--help"]));
        assert_eq!(said.code, Some(0), "{command}");
        assert!(said.stdout.contains("Examples:"), "{command} has no examples");
        assert!(said.stdout.lines().all(|line| line.chars().count() <= 100), "{command} has long lines");
    }
}

#[test]
fn version_completion_and_man_page() {
    let version = said(&mut headway(["--version"]));
    assert_eq!(version.code, Some(0));
    for shell in ["bash", "zsh", "fish"] {
        let script = said(&mut headway(["completion", shell]));
        assert_eq!(script.code, Some(0));
        assert!(script.stdout.contains("HEADWAY_COMPLETE"), "{shell}");
    }
    let page = said(&mut headway(["man"]));
    assert!(page.stdout.starts_with(".ie") || page.stdout.contains(".TH headway 1"), "{}", page.stdout);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", "set -o pipefail; \"$0\" man | head -1"]).arg(support::program());
    let said = said(&mut shell);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
}

#[test]
fn ranges_that_show_nothing_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("shop.jfr");
    support::recording::shop(&file);
    let refused = |range: &[&str], sentence: &str| {
        for command in [&["report"][..], &["report", "--method"], &["export", "--of", "owner", "-o", "-"]] {
            support::refuses(headway(command.iter().chain(range)).arg(&file), 2, sentence);
        }
    };
    refused(&["--from", "500ms", "--to", "100ms"], "--from 500ms is not before --to 100ms");
    refused(&["--from", "1h"], "--from 1h is after the recording's end: it lasts 1.00 s");
    refused(&["--to", "-1h"], "--to -1h is not after the recording's start");
}

#[test]
fn options_without_effect_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    support::recording::shop(&directory.path().join("shop.jfr"));
    let refused = |line: &[&str], options: &[&[&str]], sentence: &str| {
        for option in options {
            let mut command = headway(line.iter().chain(*option));
            let sentence = format!("headway: {} {sentence}", option[0]);
            support::refuses(command.current_dir(directory.path()), 2, &sentence);
        }
    };
    let range: [&[&str]; 3] = [&["--from", "0"], &["--to", "1s"], &["--threads", "http"]];
    let page = ["report", "shop.jfr", "-o", "x.html"];
    refused(&page, &range, "has no effect with -o");
    refused(&page, &[&["--min-duration", "1s"], &["--method"], &["--steal"], &["--full"]], "has no effect with -o");
    let copy = ["export", "shop.jfr", "-o", "x.jfr"];
    refused(&copy, &range, "has no effect on a .jfr file");
    refused(&copy, &[&["--of", "owner"], &["--per-thread"], &["--samples"]], "has no effect on a .jfr file");
    refused(&["export", "shop.jfr", "-o", "-", "--format", "jfr"], &range, "has no effect on a .jfr file");
    refused(&["report", "--method", "shop.jfr"], &[&["--steal"], &["--pressure"]], "has no effect with --method");
    refused(&["parks", "shop.jfr"], &[&["--duration", "1s"], &["--free-on-print"]], "has no effect on a recording");
    assert_eq!(std::fs::read_dir(directory.path()).expect("listed").count(), 1, "nothing is written");
}
