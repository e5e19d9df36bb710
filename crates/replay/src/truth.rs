//! What a program says of its own stack.
//!
//! Each method of the program writes its name down when it begins and strikes it
//! out when it ends, on every way out. So at any instruction the stack has
//! exactly the methods written down, and perhaps one more: one that has just
//! been called and has not written its name yet, or has struck it out and not
//! returned yet. Methods of the JDK may stand on top.

use crate::{Decoded, Shown};
use std::collections::HashSet;

/// The program's classes begin with this.
const PROGRAM: &str = "Known";

/// The calls that the program can make.
#[derive(Clone, Debug)]
pub struct Truth {
    calls: HashSet<String>,
}

impl Truth {
    /// From lines `caller callee`.
    pub fn of_calls(calls: &[String]) -> Truth {
        Truth { calls: calls.iter().cloned().collect() }
    }

    fn calls(&self, caller: &str, callee: &str) -> bool {
        self.calls.contains(&format!("{caller} {callee}"))
    }

    /// True for a method that calls nobody, and so writes nothing down.
    fn is_silent(&self, method: &str) -> bool {
        self.calls.iter().all(|call| call.split(' ').next() != Some(method))
    }

    /// Judges a stack.
    ///
    /// # Errors
    /// One sentence: what is wrong with it.
    pub fn judge(&self, written: &[String], decoded: &Decoded) -> Result<(), String> {
        if !decoded.end.is_complete() {
            return Err(format!("it ends with {:?}", decoded.end));
        }
        if decoded.missing > 0 {
            return Err(format!("{} frames have no method", decoded.missing));
        }
        let root_first: Vec<&Shown> = decoded.frames.iter().rev().collect();
        // Constructors write nothing down, and reflection calls one of them.
        let is_program = |frame: &&Shown| frame.class.starts_with(PROGRAM) && frame.method != "<init>";
        let own: Vec<&str> = root_first.iter().filter(|frame| is_program(frame)).map(|f| f.method.as_str()).collect();
        let first_foreign = root_first.iter().position(|frame| !is_program(frame)).unwrap_or(root_first.len());
        if first_foreign < own.len() {
            return Err(format!("a frame of another class lies between the program's own: {own:?}"));
        }
        let Some(same) = own.get(..written.len()).filter(|same| same.iter().eq(written.iter())) else {
            return Err(format!("the program is in {written:?}, not in {own:?}"));
        };
        match (own.get(same.len()..).unwrap_or_default(), same.last()) {
            ([], _) => Ok(()),
            ([more], Some(last)) if self.calls(last, more) => Ok(()),
            // The compiler may do what a silent method does behind the writing.
            ([more, silent], Some(last))
                if self.calls(last, more) && self.calls(more, silent) && self.is_silent(silent) =>
            {
                Ok(())
            }
            (more, _) => Err(format!("the program is in {written:?}, from where nobody calls {more:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_hotspot::fragment::FragmentEnd;

    fn stack(frames: &[&str], end: FragmentEnd) -> Decoded {
        let shown = |frame: &&str| {
            let (class, method) = frame.split_once('.').expect("class.method");
            Shown {
                class: class.to_owned(),
                method: method.to_owned(),
                bci: 0,
                kind: "compiled".to_owned(),
                approximate: false,
                deoptimized: false,
            }
        };
        Decoded { native: 0, frames: frames.iter().rev().map(shown).collect(), missing: 0, end, leaf: String::new() }
    }

    fn judged(frames: &[&str]) -> Result<(), String> {
        let calls = ["main a", "a b", "b b", "b silent"].map(str::to_owned);
        let written = ["main", "a"].map(str::to_owned);
        Truth::of_calls(&calls).judge(&written, &stack(frames, FragmentEnd::Complete))
    }

    #[test]
    fn what_is_written_and_one_call_more_is_right() {
        assert_eq!(judged(&["Known.main", "Known.a"]), Ok(()));
        assert_eq!(judged(&["Known.main", "Known$Inner.a", "Known.b", "java.lang.Math.abs"]), Ok(()));
        assert_eq!(judged(&["Known.main", "Known.a", "Known.b", "Known.silent"]), Ok(()));
    }

    #[test]
    fn everything_else_is_wrong() {
        assert!(judged(&["Known.main"]).is_err(), "a frame is missing");
        assert!(judged(&["Known.main", "Known.b"]).is_err(), "another method");
        assert!(judged(&["Known.main", "Known.a", "Known.b", "Known.b"]).is_err(), "two too many");
        assert!(judged(&["Known.main", "Known.a", "Known.main"]).is_err(), "a call that nobody makes");
        assert!(judged(&["Known.main", "java.lang.Math.abs", "Known.a"]).is_err(), "a stranger in between");
        assert!(judged(&["java.lang.Thread.run", "Known.main", "Known.a"]).is_err(), "a stranger below");
        let short = stack(&["Known.main", "Known.a"], FragmentEnd::Short);
        assert!(Truth::of_calls(&[]).judge(&["main".to_owned(), "a".to_owned()], &short).is_err());
    }
}
