//! From what was typed, a pid or a name, to one JVM.

use crate::error::Failure;
use crate::interrupt;
use crate::jvm::{self, Jvm, Seen};
use crate::recording::input;
use crate::suggest;
use std::path::Path;

/// Finds the JVM that `target` names: a pid, a main class with or without its
/// package, a jar's file name, or a part of one of these.
///
/// # Errors
/// No such process, no JVM, a name that fits none or several.
pub fn jvm(target: &str) -> Result<Jvm, Failure> {
    interrupt::watch();
    match target.parse::<u32>() {
        Ok(pid) => by_pid(pid),
        Err(_) if target.chars().all(|c| c.is_ascii_digit()) || target.is_empty() => {
            Err(Failure::Usage(format!("\"{target}\" is not a process id; `headway list` shows the running JVMs")))
        }
        // As a part of a name it would be in many.
        Err(_) if target == input::STANDARD => {
            Err(Failure::Usage("- (standard input) is no JVM: give a pid or a name (`headway list` shows them)".into()))
        }
        Err(_) => by_name(target, jvm::running()),
    }
}

fn by_pid(pid: u32) -> Result<Jvm, Failure> {
    match jvm::look_at(pid)? {
        Seen::Jvm(jvm) => Ok(*jvm),
        Seen::NotAJvm(process) => Err(Failure::NotAJvm { pid, command: process.command() }),
        Seen::Closed(process) => Err(process.not_inspectable()),
    }
}

fn by_name(name: &str, jvms: Vec<Jvm>) -> Result<Jvm, Failure> {
    let names: Vec<String> = jvms.iter().map(|jvm| jvm.short_name().to_owned()).collect();
    let mut matching = best_matches(name, jvms);
    if matching.len() > 1 {
        let candidates = matching.iter().map(|jvm| format!("{} {}", jvm.process.pid, jvm.main)).collect();
        return Err(Failure::AmbiguousName { name: name.to_owned(), candidates });
    }
    matching.pop().ok_or_else(|| Failure::NoJvmNamed {
        name: name.to_owned(),
        hint: match Path::new(name).is_file() {
            true => "; it is a file, and `headway report` and `headway view` read recordings".to_owned(),
            false => suggest::did_you_mean(name, names.iter().map(String::as_str)),
        },
    })
}

/// The JVMs that fit the name best: exactly, else by their short name, else
/// by a part of it.
fn best_matches(name: &str, mut jvms: Vec<Jvm>) -> Vec<Jvm> {
    let fitness = |jvm: &Jvm| {
        let bare_jar = jvm.short_name().strip_suffix(".jar");
        if jvm.main == name {
            3
        } else if jvm.short_name() == name || bare_jar == Some(name) {
            2
        } else {
            u8::from(jvm.main.to_lowercase().contains(&name.to_lowercase()))
        }
    };
    let best = jvms.iter().map(fitness).max().unwrap_or(0);
    jvms.retain(|jvm| best > 0 && fitness(jvm) == best);
    jvms
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jvm::process::Process;
    use crate::jvm::Vm;

    fn jvms(mains: &[&str]) -> Vec<Jvm> {
        let jvm = |(n, main): (usize, &&str)| Jvm {
            process: Process::with_pid(n as u32 + 1),
            vm: Vm::HotSpot,
            java_version: "17.0.1".into(),
            main: (*main).to_owned(),
            agent_path: None,
            attach_disabled: false,
            inspected: true,
        };
        mains.iter().enumerate().map(jvm).collect()
    }

    fn found(name: &str, mains: &[&str]) -> String {
        match by_name(name, jvms(mains)) {
            Ok(jvm) => jvm.main,
            Err(failure) => failure.to_string(),
        }
    }

    #[test]
    fn the_better_match_wins() {
        let mains = ["com.acme.Server", "com.acme.ServerTest", "/opt/shop.jar"];
        assert_eq!(found("com.acme.Server", &mains), "com.acme.Server");
        assert_eq!(found("Server", &mains), "com.acme.Server");
        assert_eq!(found("shop", &mains), "/opt/shop.jar");
        assert_eq!(found("servertest", &mains), "com.acme.ServerTest");
    }

    #[test]
    fn two_that_fit_alike_are_ambiguous() {
        let sentence = found("Server", &["a.Server", "b.Server"]);
        assert_eq!(sentence, "\"Server\" matches 2 JVMs (1 a.Server, 2 b.Server): give the pid");
    }

    #[test]
    fn a_file_is_no_jvm_and_what_reads_it_is_said() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let sentence = found(&file.path().display().to_string(), &["a.Server"]);
        assert!(sentence.contains("\"; it is a file, and `headway report` and"), "{sentence}");
    }

    #[test]
    fn none_that_fits_gets_the_nearest() {
        let sentence = found("Sevrer", &["a.Server"]);
        assert!(sentence.starts_with("no running JVM matches \"Sevrer\"; did you mean \"Server\"?"), "{sentence}");
    }
}
