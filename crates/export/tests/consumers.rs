//! Each format read by the program that it is for, where that is at hand; if
//! not, that is said, and with `CI=true` it is a failure.
#![allow(clippy::unwrap_used)] // a test may end like that

mod support;

use headway_analysis::method::{Grouping, Measure, ProfileOptions};
use headway_export::Format;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{browser, consumer, output, profile, shop, written};

fn file(directory: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

#[test]
fn pprof_shows_the_shop() {
    let Some(go) = consumer("go") else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), "a.pb.gz", &written(Format::Pprof, &shop(Measure::Cpu)));
    let mut pprof = Command::new(&go);
    pprof.args(["tool", "pprof", "-top", "-unit=ms"]).arg(&path).env("HOME", directory.path());
    let top = output(&mut pprof);
    assert!(top.contains("Type: cpu"), "{top}");
    assert!(top.contains("Duration: 50ms, Total samples = 60ms"), "{top}");
    let row = |name: &str| {
        let line = top.lines().find(|line| line.ends_with(name)).unwrap_or_else(|| panic!("{name} in {top}"));
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("shop.Stock.sort")[..4], ["35ms", "58.33%", "58.33%", "35ms"]);
    assert_eq!(row("shop.Server.serve")[3..5], ["60ms", "100%"]);
    let list: [(&str, &[&str], u64); 2] = [("main", &["a.b"], 3), ("worker", &["a.b"], 4)];
    let threads = profile(&list, ProfileOptions { grouping: Grouping::Thread, ..ProfileOptions::default() });
    let path = file(directory.path(), "b.pb.gz", &written(Format::Pprof, &threads));
    let mut pprof = Command::new(&go);
    let tags = output(pprof.args(["tool", "pprof", "-tags", "-unit=ms"]).arg(path).env("HOME", directory.path()));
    assert!(tags.contains("thread: Total 7ms") && tags.contains("4ms (57.14%): worker"), "{tags}");
}

#[test]
fn speedscopes_schema_accepts_the_shop() {
    let Some(node) = consumer("node") else { return };
    let checker = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/consumers");
    if !checker.join("node_modules").is_dir() {
        let installed =
            consumer("npm").map(|npm| Command::new(npm).args(["ci", "--silent"]).current_dir(&checker).status());
        if !matches!(installed, Some(Ok(status)) if status.success()) {
            eprintln!("npm cannot fetch speedscope's schema: this test did not run");
            return;
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), "a.json", &written(Format::Speedscope, &shop(Measure::Wall)));
    let check = || {
        let mut command = Command::new(&node);
        command.arg(checker.join("speedscope.mjs")).arg(&path);
        command
    };
    assert_eq!(output(&mut check()).trim(), "valid: 2 profiles");
    let broken = std::fs::read_to_string(&path).unwrap().replace("\"sampled\"", "\"sampling\"");
    std::fs::write(&path, broken).unwrap();
    assert!(!check().output().unwrap().status.success(), "the check can fail");
}

#[test]
fn a_browser_draws_the_page() {
    let Some(chromium) = browser() else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), "a.html", &written(Format::Flame, &shop(Measure::Cpu)));
    let mut browser = Command::new(chromium);
    browser
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", directory.path().join("user").display()))
        .arg(format!("file://{}", path.display()));
    let page = output(&mut browser);
    // The script ran to its end: the last thing that it does is to tell the
    // whole.
    assert!(page.contains("everything \u{2014} 60.0 ms, 100 % of all"), "{page}");
    assert!(page.contains("CPU time, 60.0 ms, 4 samples"), "{page}");
    assert!(!page.contains("<img"), "a name became an element");
}

#[test]
fn perfettos_schema_knows_every_field() {
    let Some(python) = consumer("python3") else { return };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let packages = here.join("../../build/perfetto");
    if !packages.join("perfetto").is_dir() {
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target"]);
        pip.arg(&packages).arg("--requirement").arg(here.join("tests/consumers/perfetto-requirements.txt"));
        if !pip.env("PIP_ROOT_USER_ACTION", "ignore").status().is_ok_and(|status| status.success()) {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "pip cannot fetch Perfetto's schema");
            eprintln!("SKIPPED: pip cannot fetch Perfetto's schema");
            return;
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let trace = written(Format::Perfetto, &shop(Measure::Wall));
    let check = |name: &str, trace: &[u8]| {
        let mut python = Command::new(&python);
        python.arg(here.join("tests/consumers/perfetto_check.py")).arg(file(directory.path(), name, trace));
        python.env("PYTHONPATH", &packages);
        python
    };
    // The first sample of main stands for more time than lies before the next two.
    let said = output(&mut check("a.perfetto-trace", &trace));
    assert_eq!(said.lines().collect::<Vec<_>>(), ["main 3 35000000", "worker 2 115000000"]);
    // A packet with a field that no schema has.
    let broken = [&trace[..], &[0x0a, 0x04, 0xf8, 0xff, 0x7f, 0x01]].concat();
    assert!(!check("b.perfetto-trace", &broken).output().unwrap().status.success(), "the check can fail");
}
