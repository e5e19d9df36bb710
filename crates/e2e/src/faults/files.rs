//! Where recordings go, and recordings that are damaged.

use super::stage::{refused, Stage};
use super::Fault;
use crate::Problem;
use std::fs;

const PLACES: &str = "Where a recording goes";
const DAMAGED: &str = "Recordings that are damaged or none";

/// See the module.
pub fn faults() -> Vec<Fault> {
    let mut faults = vec![
        place("a directory that does not exist", "missing/x.jfr", ""),
        place("a path that is a directory", "taken.jfr", "directory"),
        place("an existing file that is no recording", "precious.jfr", "there already"),
        place("a dangling symbolic link", "dangling.jfr", ""),
        place("a directory that is a file", "precious.jfr/x.jfr", ""),
        place("an extension that is no format", "x.txt", ""),
    ];
    faults.push(Fault::new(
        PLACES,
        "`export x -o x`",
        "exit code 1 or 2, one sentence; the recording stays",
        export_onto_itself,
    ));
    for (what, content) in damages() {
        faults.push(damage(what, content));
    }
    faults.push(Fault::new(DAMAGED, "a file that does not exist", "exit code 1, one sentence", |stage| {
        refused(stage, &stage.headway(["report", "missing.jfr"])?, 1, "missing.jfr", &[])
    }));
    faults.push(Fault::new(DAMAGED, "a directory", "exit code 1 or 4, one sentence", |stage| {
        fs::create_dir(stage.path("folder.jfr"))?;
        any_refusal(stage, &["report", "folder.jfr"], &[1, 4])
    }));
    for cut in [0.9, 0.5, 0.1] {
        faults.push(cut_short(cut));
    }
    faults
}

fn place(what: &'static str, path: &'static str, words: &'static str) -> Fault {
    let expected = "exit code 1 or 2, one sentence; nothing is written; the program runs on";
    Fault::new(PLACES, what, expected, move |stage| {
        const CONTENT: &str = "not a recording";
        fs::create_dir(stage.path("taken.jfr"))?;
        fs::write(stage.path("precious.jfr"), CONTENT)?;
        std::os::unix::fs::symlink(stage.path("nowhere.jfr"), stage.path("dangling.jfr"))?;
        let mut program = stage.contended(17, &[])?;
        let said = stage.headway(["record", "-d", "1s", "-o", &stage.name(path), &program.pid()])?;
        stage.survives(&mut program)?;
        if fs::read_to_string(stage.path("precious.jfr"))? != CONTENT || stage.path("nowhere.jfr").exists() {
            return Err("something was written".into());
        }
        let code = said.code.filter(|code| [1, 2].contains(code)).ok_or_else(|| said.all())?;
        refused(stage, &said, code, words, &[&program.pid()])
    })
}

/// A recording of a moment.
fn recording(stage: &Stage) -> Result<String, Problem> {
    let mut program = stage.contended(17, &[])?;
    stage.record(&mut program, &[])?;
    Ok(stage.name("recording.jfr"))
}

fn any_refusal(stage: &Stage, arguments: &[&str], codes: &[i32]) -> Result<String, Problem> {
    let said = stage.headway(arguments)?;
    let code = said.code.filter(|code| codes.contains(code)).ok_or_else(|| said.all())?;
    refused(stage, &said, code, "", &[])
}

fn export_onto_itself(stage: &Stage) -> Result<String, Problem> {
    let file = recording(stage)?;
    let before = fs::read(&file)?;
    let seen = any_refusal(stage, &["export", &file, "-o", &file], &[1, 2])?;
    match fs::read(&file)? == before {
        true => Ok(seen),
        false => Err("the recording changed".into()),
    }
}

fn damages() -> Vec<(&'static str, Vec<u8>)> {
    let mut lying = b"FLR\0\0\x02\0\x01".to_vec();
    lying.extend([0x7f; 120]);
    vec![
        ("an empty file", vec![]),
        ("text", b"this is no recording, however long one looks at it".repeat(20)),
        ("a megabyte of zeros", vec![0; 1 << 20]),
        ("a header that promises more than there is", lying),
        ("the head of a zstd file and nothing else", vec![0x28, 0xb5, 0x2f, 0xfd, 0x24, 0x10]),
        ("a class file", b"\xca\xfe\xba\xbe\0\0\0\x3d\0\x1d".repeat(30)),
    ]
}

fn damage(what: &'static str, content: Vec<u8>) -> Fault {
    Fault::new(DAMAGED, what, "exit code 1 or 4, one sentence", move |stage| {
        fs::write(stage.path("x.jfr"), &content)?;
        any_refusal(stage, &["report", "x.jfr"], &[1, 4])
    })
}

fn cut_short(part: f64) -> Fault {
    let what = format!("a recording cut off after {:.0} % of its bytes", part * 100.0);
    let expected = "exit code 4, the readable part and one sentence";
    Fault::new(DAMAGED, what, expected, move |stage| {
        let file = recording(stage)?;
        let bytes = fs::read(&file)?;
        let kept = (bytes.len() as f64 * part) as usize;
        fs::write(&file, bytes.get(..kept).unwrap_or_default())?;
        refused(stage, &stage.headway(["report", &file])?, 4, "", &[])
    })
}
