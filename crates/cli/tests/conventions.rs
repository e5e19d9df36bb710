//! What a command line is expected to do: `-`, patterns, a reader that leaves, no
//! terminal, narrow and wide ones, colours, tables for programs, a config file.
//! `docs/conventions.md` has the table of what is tried here;
//! `HEADWAY_WRITE_CONVENTIONS=1` writes it again.

#![allow(clippy::expect_used)] // A panic in a test is a failed test.

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use support::recording::Scenario;
use support::{headway, headway_with_agent, jdk, refuses, said, Guarded, Said};
use tempfile::TempDir;

/// What can be done with a recording; RECORDING stands for its name.
const COMMANDS: [&[&str]; 13] = [
    &["report", "RECORDING"],
    &["report", "--full", "RECORDING"],
    &["report", "--pressure", "RECORDING"],
    &["report", "--json", "RECORDING"],
    &["report", "--format", "csv", "RECORDING"],
    &["report", "--format", "jsonl", "RECORDING"],
    &["report", "-o", "-", "RECORDING"],
    &["parks", "RECORDING"],
    &["diff", "--of", "owner", "shop.jfr", "RECORDING"],
    &["export", "--of", "owner", "-o", "-", "RECORDING"],
    &["export", "-o", "-", "--format", "jfr", "RECORDING"],
    &["flame", "--of", "owner", "-o", "-", "RECORDING"],
    &["causal", "report", "RECORDING"],
];

/// What is asked of a running JVM, in this order; PID stands for it.
const OF_A_JVM: [&[&str]; 8] = [
    &["start", "-e", "lock", "-o", "started.jfr", "--force", "PID"],
    &["status", "PID"],
    &["top", "--json", "-n", "1", "PID"],
    &["metrics", "--once", "PID"],
    &["parks", "PID"],
    &["dump", "-o", "dumped.jfr", "--force", "PID"],
    &["stop", "PID"],
    &["record", "-d", "1", "-e", "lock", "-o", "recorded.jfr", "--force", "PID"],
];

/// What needs neither a recording nor a JVM that runs already; JAVA stands for a JDK's.
const OTHERS: [&[&str]; 5] = [
    &["list"],
    &["completion", "bash"],
    &["man"],
    &["help"],
    &["run", "-o", "run.jfr", "--force", "--", "JAVA", "-version"],
];

/// What `headway-fleet` carries out.
const OF_THE_FLEET: [&str; 4] = ["sql", "ingest", "ship", "fleet"];

fn directory() -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let mut scenario = Scenario::begin(&directory.path().join("shop.jfr"));
    scenario.contention();
    scenario.parking();
    scenario.experiments();
    scenario.finish();
    directory
}

/// A command in the directory of the recording, which is called `name` there.
fn command(words: &[&str], name: &str, directory: &Path) -> Command {
    let mut command = headway(words.iter().map(|word| if *word == "RECORDING" { name } else { word }));
    command.current_dir(directory);
    command
}

fn reading(mut command: Command, file: &Path) -> Said {
    said(command.stdin(File::open(file).expect("a recording")))
}

/// What a command says of a pipe that is closed before it writes.
fn with_closed_pipe(mut command: Command) -> Said {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("read");
    Said { code: child.wait().expect("it ends").code(), stdout: String::new(), stderr }
}

/// Output without the names that the recording has in it.
fn without_names(text: &str) -> String {
    // A name that is not for copying into a command is `FILE` there.
    let text = text.replace("sh?p.jfr", "shop.jfr").replace("report FILE ", "report shop.jfr ");
    // As a line, a cell, a value, a title.
    let marks = [("\n-\n", "\nshop.jfr\n"), ("\"-\"", "\"shop.jfr\""), ("\n'-,", "\nshop.jfr,"), (">-<", ">shop.jfr<")];
    let text = marks.iter().fold(format!("\n{text}"), |text, (mark, name)| text.replace(mark, name));
    // As a word of a sentence.
    let word = |word: &str| match word.strip_prefix('-') {
        Some(end) if end.chars().all(|c| c.is_ascii_punctuation() && c != '-') => format!("shop.jfr{end}"),
        _ => word.to_owned(),
    };
    text.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// The widest line, in columns.
fn width(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

fn is_for_people(words: &[&str]) -> bool {
    !words.contains(&"-o") && !words.contains(&"--json") && !words.contains(&"--format")
}

/// What is wrong with a command in each situation, in the order of [`SITUATIONS`].
fn try_out(words: &[&str], directory: &Path) -> Vec<Option<String>> {
    let recording = directory.join("shop.jfr");
    let plain = said(&mut command(words, "shop.jfr", directory));
    // The name of the recording is a part of what some print.
    let same = |said: Said| {
        // A page has its data packed, the name among them.
        let is_page = plain.stdout.to_lowercase().starts_with("<!doctype html>");
        let is_same = match is_page {
            true => said.stdout.len().abs_diff(plain.stdout.len()) < plain.stdout.len() / 100,
            false => without_names(&said.stdout) == without_names(&plain.stdout),
        };
        match said.code {
            Some(0) if is_same => None,
            code => {
                Some(format!("exit code {code:?}, {}: {}", if is_same { "same" } else { "other output" }, said.stderr))
            }
        }
    };
    let fits = |columns: &str, most: usize| {
        let said = said(command(words, "shop.jfr", directory).env("COLUMNS", columns));
        assert_eq!(said.code, Some(0), "{words:?}: {}", said.stderr);
        let is_too_wide = is_for_people(words) && width(&said.stdout) > most;
        // What everybody reads fits.
        let must_fit = [&["report", "RECORDING"][..], &["parks", "RECORDING"], &["causal", "report", "RECORDING"]];
        assert!(!is_too_wide || !must_fit.contains(&words), "{words:?}: {}", said.stdout);
        is_too_wide.then(|| format!("{} columns", width(&said.stdout)))
    };
    let closed = with_closed_pipe(command(words, "shop.jfr", directory));
    vec![
        same(reading(command(words, "-", directory), &recording)),
        same(said(&mut command(words, "sh?p.jfr", directory))),
        (closed.code != Some(0) || !closed.stderr.is_empty()).then(|| format!("{:?}: {}", closed.code, closed.stderr)),
        plain.stdout.contains("\u{1b}[").then(|| "colours without a terminal".to_owned()),
        fits("40", 60),
        fits("200", 200),
    ]
}

const SITUATIONS: [&str; 6] =
    ["`-`, from a pipe", "pattern in quotes", "closed pipe", "no terminal", "40 columns", "200 columns"];

/// Commands that read several recordings take patterns.
fn takes_patterns(words: &[&str]) -> bool {
    words.first() == Some(&"report") || words.starts_with(&["causal", "report"])
}

/// A command with what stands for words in it.
fn filled(words: &[&str], pid: &str, java: &Path, directory: &Path) -> Command {
    let words = words.iter().map(|word| match *word {
        "PID" => pid.to_owned(),
        "JAVA" => java.display().to_string(),
        word => word.to_owned(),
    });
    let mut command = headway_with_agent(words);
    command.current_dir(directory);
    command
}

/// Ends well, and says nothing of a pipe or in colours.
#[track_caller]
fn ends_well(command: &mut Command, is_closed: bool) -> String {
    let said = match is_closed {
        true => with_closed_pipe(std::mem::replace(command, Command::new("true"))),
        false => said(command),
    };
    let is_well = said.code == Some(0) && !said.stderr.contains("roken pipe") && !said.stderr.contains("panicked");
    assert!(is_well, "{:?}: {}{}", said.code, said.stdout, said.stderr);
    assert!(!said.stdout.contains("\u{1b}["), "colours without a terminal: {}", said.stdout);
    said.stdout
}

/// Of a command that is not for one recording: what `-` and a pattern in the place of its
/// last word come to.
fn refused(words: &[&str], pid: &str, java: &Path, directory: &Path) {
    for typed in ["-", "no-*.jvm"] {
        let mut asked: Vec<&str> = match words {
            [.., "--", _, _] => words[..words.len() - 2].to_vec(),
            [first @ .., "PID"] => first.to_vec(),
            _ => words.to_vec(),
        };
        asked.push(typed);
        let said = said(&mut filled(&asked, pid, java, directory));
        let sentences = said.stderr.lines().filter(|line| line.starts_with("headway: ")).count();
        assert!(said.code != Some(0) && sentences == 1, "{asked:?}: {:?} {}", said.code, said.stderr);
    }
}

/// Rows of the commands that are not for one recording. `None`, said, if there is no JDK.
fn others(directory: &Path) -> Option<String> {
    let home = jdk::any_home()?;
    let java = home.join("bin/java");
    let program = jdk::running(&home, &[])?;
    let pid = program.pid().to_string();
    for words in OF_A_JVM {
        let mut unfit = filled(words, "-", &java, directory);
        if words[0] != "parks" {
            refuses(&mut unfit, 2, "- (standard input) is no JVM: give a pid or a name");
            refused(words, &pid, &java, directory);
        }
    }
    OTHERS.iter().for_each(|words| refused(words, &pid, &java, directory));
    let mut wide = BTreeMap::new();
    for (columns, most, is_closed) in [("40", 60, false), ("200", 200, false), ("80", 80, true)] {
        for words in OF_A_JVM.iter().chain(&OTHERS) {
            let mut command = filled(words, &pid, &java, directory);
            let printed = ends_well(command.env("COLUMNS", columns), is_closed);
            let must_fit = ["status", "parks", "stop"].contains(&words[0]);
            assert!(!must_fit || width(&printed) <= most, "{words:?} in {columns} columns: {printed}");
            wide.insert((words.join(" "), columns), width(&printed) > most);
        }
    }
    refuses(&mut filled(&["top", "PID"], &pid, &java, directory), 2, "`headway top` needs a terminal; --json prints");
    let mut rows = String::new();
    for words in OF_A_JVM.iter().chain(&OTHERS) {
        let name = words.join(" ").replace("JAVA", "java");
        let refused = if words[0] == "parks" { "yes, a recording" } else { "refused" };
        let fits = |columns: &'static str| match words[0] {
            "list" | "help" | "status" | "parks" | "stop" if wide[&(words.join(" "), columns)] => "wider",
            "list" | "help" | "status" | "parks" | "stop" => "yes",
            "completion" | "man" => "a file",
            _ => "sentences",
        };
        let pattern = if words[0] == "parks" { "one file" } else { "refused" };
        rows +=
            &format!("| `headway {name}` | {refused} | {pattern} | yes | yes | {} | {} |\n", fits("40"), fits("200"));
    }
    rows += &served(directory);
    for word in OF_THE_FLEET {
        let mut command = headway([word, "-"]);
        refuses(command.env("PATH", ""), 1, &format!("`headway {word}` needs headway-fleet"));
        rows += &format!("| `headway {word}` |{}\n", " by `headway-fleet` |".repeat(6));
    }
    Some(rows)
}

/// The row of `view`, which serves until it is ended.
fn served(directory: &Path) -> String {
    for name in ["-", "sh?p.jfr"] {
        let mut view = command(&["view", "RECORDING"], name, directory);
        view.stdin(File::open(directory.join("shop.jfr")).expect("a recording"));
        let mut view = Guarded::spawn(view.stdout(Stdio::piped()).stderr(Stdio::null()));
        let mut line = String::new();
        BufReader::new(view.0.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        assert!(line.contains("http://127.0.0.1:") && !line.contains('\u{1b}'), "{name}: {line}");
    }
    let mut view = command(&["view", "RECORDING"], "shop.jfr", directory);
    let mut view = Guarded::spawn(view.stdout(Stdio::piped()).stderr(Stdio::piped()));
    drop(view.0.stdout.take());
    // What it prints after the address.
    let mut line = String::new();
    BufReader::new(view.0.stderr.take().expect("a pipe")).read_line(&mut line).expect("a line");
    assert!(view.lives() && line.contains("Ctrl-C"), "{line}");
    "| `headway view RECORDING` | yes | yes | serves on | yes | a page | a page |\n".to_owned()
}

/// Every command of `headway --help` is in one of the tables.
#[test]
fn every_command_is_tried() {
    let help = said(headway(["--help"]).env("COLUMNS", "200")).stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // Texts that go on begin further right.
    let names = commands.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let commands: Vec<&str> = names.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.len() > 15, "{help}");
    let tried = COMMANDS.iter().chain(&OF_A_JVM).chain(&OTHERS).map(|words| words[0]);
    let tried: Vec<&str> = tried.chain(OF_THE_FLEET).chain(["view"]).collect();
    let missing: Vec<&&str> = commands.iter().filter(|command| !tried.contains(command)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_command_keeps_the_conventions() {
    let directory = directory();
    let mut table = String::new();
    for words in COMMANDS {
        let mut cells = Vec::new();
        for (problem, situation) in try_out(words, directory.path()).into_iter().zip(SITUATIONS) {
            match problem {
                _ if situation.starts_with("pattern") && !takes_patterns(words) => cells.push("one file".to_owned()),
                None => cells.push("yes".to_owned()),
                Some(width) if situation.ends_with(" columns") => cells.push(width),
                Some(problem) => panic!("{words:?}, {situation}: {problem}"),
            }
        }
        table += &format!("| `headway {}` | {} |\n", words.join(" "), cells.join(" | "));
    }
    let head = format!("| command | {} |\n|---|{}\n", SITUATIONS.join(" | "), "---|".repeat(6));
    let Some(others) = others(directory.path()) else { return };
    let text = format!("{HEAD}{head}{table}{OTHER_HEAD}{head}{others}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conventions.md");
    if std::env::var_os("HEADWAY_WRITE_CONVENTIONS").is_some() {
        fs::write(&path, &text).expect("written");
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), text, "HEADWAY_WRITE_CONVENTIONS=1 writes it again");
}

const HEAD: &str = "# Conventions of the command line

Made by the test `conventions` of `crates/cli`, which tries each command in each situation.

* `-` is standard input (it is kept in a file without a name in `TMPDIR`) and, with `-o`, standard output; what is
  no text is not written to a terminal. `export -o -` takes `--format`.
* `report` takes several files and patterns in quotes (`'rec-*.jfr'`), and ends with the totals of each file and of
  each JVM with several files.
* A closed pipe ends a command with code 0 and without a word.
* Colours: `--color auto|always|never`; `auto` is on a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`.
* The width is that of the terminal, or `COLUMNS`, at least 60.
* Tables for programs: `--format csv` and `--format jsonl` of `list`, `report` (the rows of `--by`) and `diff`.
* Defaults come from `~/.config/headway/config.toml` (`XDG_CONFIG_HOME`, or the file that `HEADWAY_CONFIG` names):
  a table per command, a key per long option, as `[report]` and `top = 20`. Variables come before the file
  (`HEADWAY_REPORT_TOP=20`), and what is typed before both. Options that exclude others can only be typed.

`yes` means: exit code 0, the same output as for the file itself (except for its name), and for people no line that is
wider than the terminal, or than 60 columns; tables that are wider say how wide. `one file` means that the command
reads one recording.

";

const OTHER_HEAD: &str = "
Commands that read no recording, tried beside a running JVM. `refused` is one sentence and an exit code that is not 0:
`-` names no JVM, and neither does a pattern. `sentences`: what they print is one paragraph per line, or is printed as it
comes from the JVM. `top` without `--json` needs a terminal, and says so.

";

#[test]
fn standard_input_is_read_like_the_file() {
    let directory = directory();
    let recording = directory.path().join("shop.jfr");
    let by_name: Value = serde_json::from_str(
        &said(&mut command(&["report", "--json", "RECORDING"], "shop.jfr", directory.path())).stdout,
    )
    .expect("JSON");
    let by_pipe = reading(command(&["report", "--json", "--from", "0s", "-"], "", directory.path()), &recording);
    let by_pipe: Value = serde_json::from_str(&by_pipe.stdout).expect("JSON");
    assert_eq!(by_name["blocked_ns"], by_pipe["blocked_ns"]);
    assert!(by_name["blocked_ns"].as_u64() > Some(0));
    // What was unpacked to standard output is the recording.
    let unpacked = reading(command(&["export", "-", "-o", "copy.jfr"], "", directory.path()), &recording);
    assert_eq!(unpacked.code, Some(0), "{}", unpacked.stderr);
    let copied = said(&mut command(&["report", "--json", "copy.jfr"], "", directory.path()));
    assert_eq!(serde_json::from_str::<Value>(&copied.stdout).expect("JSON")["blocked_ns"], by_name["blocked_ns"]);
    let page = reading(command(&["report", "-", "-o", "-"], "", directory.path()), &recording);
    assert!(page.stdout.to_lowercase().starts_with("<!doctype html>"), "{}", page.stderr);
    refuses(&mut command(&["report", "-", "-"], "", directory.path()), 2, "- (standard input) can be read once only");
    refuses(&mut command(&["diff", "-", "-"], "", directory.path()), 2, "- (standard input) can be read once only");
    refuses(&mut command(&["report", "-"], "", directory.path()), 4, "- is empty");
}

#[test]
fn several_files_end_with_their_totals() {
    let directory = directory();
    fs::copy(directory.path().join("shop.jfr"), directory.path().join("again.jfr")).expect("copied");
    let said = said(&mut command(&["report", "*.jfr"], "", directory.path()));
    let totals = said.stdout.split("TOTALS").nth(1).expect("totals");
    let line = |name: &str| totals.lines().find(|line| line.trim_start().starts_with(name)).expect("a line").to_owned();
    assert!(line("again.jfr").contains("1.49 s") && line("shop.jfr").contains("1.49 s"), "{totals}");
    assert!(line("2 x ").contains("2.98 s"), "{totals}");
    assert!(totals.contains("overlap"), "{totals}");
    // Waits as the report has them, without idle threads.
    let mut scenario = Scenario::begin(&directory.path().join("waits.jfr"));
    scenario.waiting();
    scenario.finish();
    let said = self::said(&mut command(&["report", "shop.jfr", "waits.jfr"], "", directory.path()));
    let totals = said.stdout.split("TOTALS").nth(1).expect("totals");
    let line = totals.lines().find(|line| line.trim_start().starts_with("waits.jfr")).expect("a line");
    assert!(totals.contains("WAITED") && line.contains("800 ms"), "{totals}");
    let (_, waits) = totals.split_once("WAITS").expect("where threads waited");
    assert!(waits.contains("shop.jfr") && waits.contains("waits.jfr"), "{totals}");
    assert!(waits.lines().any(|line| line.contains("0 ns") && line.contains("800 ms")), "{totals}");
    assert!(totals.lines().all(|line| line.chars().count() <= 80), "{totals}");
    refuses(&mut command(&["report", "no-*.jfr"], "", directory.path()), 2, "no-*.jfr: no file matches");
}

#[test]
fn colours_are_asked_for_or_not() {
    let directory = directory();
    let has_colours = |arguments: &[&str]| {
        said(&mut command(&[arguments, &["report", "shop.jfr"]].concat(), "", directory.path()))
            .stdout
            .contains('\u{1b}')
    };
    assert!(!has_colours(&[]));
    assert!(has_colours(&["--color", "always"]));
    assert!(!has_colours(&["--color", "never"]));
    refuses(
        &mut headway(["list", "--color", "pink"]),
        2,
        "--color: unknown value \"pink\" (values: auto, always, never)",
    );
}

#[test]
fn tables_for_programs_have_the_rows_of_the_report() {
    let directory = directory();
    let printed = |format: &str| {
        let arguments = ["report", "--by", "lock-name,owner-method", "--format", format, "shop.jfr"];
        said(&mut command(&arguments, "", directory.path())).stdout
    };
    let csv = printed("csv");
    let header = "file,pid,lock-name,owner-method,total_ns,count,max_ns,share,others";
    assert_eq!(csv.lines().next(), Some(header), "{csv}");
    let lines: Vec<Value> = printed("jsonl").lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(csv.lines().count(), lines.len() + 1);
    let arguments = ["report", "--json", "shop.jfr"];
    let report = said(&mut command(&arguments, "", directory.path())).stdout;
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let sum: u64 = lines.iter().filter_map(|line| line["total_ns"].as_u64()).sum();
    assert_eq!(Some(sum), report["blocked_ns"].as_u64());
    let list = said(&mut headway(["list", "--format", "csv"])).stdout;
    assert!(list.is_empty() || list.starts_with("pid,user,java_version,vm,main,"), "{list}");
}

#[test]
fn what_is_typed_comes_before_the_environment_and_that_before_the_file() {
    let directory = directory();
    let config = directory.path().join("config.toml");
    fs::write(&config, "[report]\nby = \"lock\"\n").expect("written");
    let by = |variable: Option<&str>, typed: &[&str]| {
        let arguments = [&["report", "--json"], typed, &["shop.jfr"]].concat();
        let mut command = command(&arguments, "", directory.path());
        command.env("HEADWAY_CONFIG", &config);
        if let Some(value) = variable {
            command.env("HEADWAY_REPORT_BY", value);
        }
        let said = said(&mut command);
        let report: Value = serde_json::from_str(&said.stdout).expect(&said.stderr);
        report["by"].to_string()
    };
    assert_eq!(by(None, &[]), "[\"lock\"]");
    assert_eq!(by(Some("kind"), &[]), "[\"kind\"]");
    assert_eq!(by(Some("kind"), &["--by", "owner-method"]), "[\"owner-method\"]");
    for (text, sentence) in [
        ("[reprot]\n", "`headway` has no command \"reprot\"; did you mean \"report\"?"),
        ("[report]\ntopp = 3\n", "`headway report` has no option \"topp\"; did you mean \"top\"?"),
        ("[report]\n\ntop = \n", "line 3: "),
        ("[report]\ntop = 0\n", "--top: expected a whole number of at least 1, not 0"),
        ("[report]\njson = true\n", "json of `headway report` excludes other options, so it can only be typed"),
    ] {
        fs::write(&config, text).expect("written");
        let mut command = command(&["report", "shop.jfr"], "", directory.path());
        refuses(command.env("HEADWAY_CONFIG", &config), 2, sentence);
        refuses(command.env("HEADWAY_CONFIG", &config), 2, &format!("config file {}", config.display()));
    }
    let mut command = command(&["report", "shop.jfr"], "", directory.path());
    refuses(command.env("HEADWAY_CONFIG", directory.path().join("none.toml")), 1, "cannot read the config file");
}

#[test]
fn the_version_names_commit_and_build() {
    let version = said(&mut headway(["--version"])).stdout;
    assert!(version.starts_with(&format!("headway {} (", env!("CARGO_PKG_VERSION"))), "{version}");
    assert!(version.contains("commit") && version.contains("build for"), "{version}");
}

/// The shell's side: `headway` is asked for what can follow.
#[test]
fn a_shell_gets_events_aspects_and_jvms_to_choose_from() {
    let offered = |words: &[&str]| {
        let mut command = headway(["--", "headway"]);
        let index = words.len().to_string();
        command.args(words).envs([("HEADWAY_COMPLETE", "bash"), ("_CLAP_IFS", "\n"), ("_CLAP_COMPLETE_INDEX", &index)]);
        command.envs([("_CLAP_COMPLETE_COMP_TYPE", "9"), ("_CLAP_COMPLETE_SPACE", "true")]);
        said(&mut command).stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(offered(&["report", "--by", "lock,owner-m"]), ["lock,owner-method"]);
    assert_eq!(offered(&["record", "-e", "cpu,pa"]), ["cpu,park"]);
    assert!(offered(&["repo"]).contains(&"report".to_owned()));
    let script = said(&mut headway(["completion", "bash"])).stdout;
    assert!(script.contains("HEADWAY_COMPLETE=\"bash\""), "{script}");
}
