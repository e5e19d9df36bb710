//! The faults that Headway is tried with: what is done to it, what is expected,
//! and what was seen. `docs/faults.md` is written from them, and a test tries
//! each of them again.
//!
//! * [`stage`]: what a fault may use: tools, JDKs, a directory, programs.
//! * [`machines`]: ways to run and to build a JVM.
//! * [`targets`]: processes that cannot or must not be attached to.
//! * [`clients`]: command lines that are wrong, killed, stopped, or many.
//! * [`environment`]: what kernels and containers refuse.
//! * [`files`]: where recordings go, and damaged ones.
//! * [`hooks`]: what keeps hooks in the process.
//! * [`hostile`]: other processes that are up to something.
//! * [`neighbours`]: what else happens in the target meanwhile.
//! * `costs`: what attaching and a killed JVM cost.
//! * [`table`]: the document.

pub mod clients;
mod costs;
pub mod disks;
mod endings;
mod environment;
pub mod files;
pub mod hooks;
pub mod hostile;
pub mod machines;
pub mod neighbours;
pub mod stage;
pub mod table;
pub mod targets;

use crate::Problem;
use stage::Stage;

/// Tries a fault: what was seen, or why it is not what was expected.
type Trial = Box<dyn Fn(&Stage) -> Result<String, Problem> + Send + Sync>;

/// One way in which something can go wrong.
pub struct Fault {
    /// Heading in the document.
    pub group: &'static str,
    /// What is done.
    pub what: String,
    /// What should happen, in words.
    pub expected: String,
    trial: Trial,
}

impl Fault {
    /// A fault and how it is tried.
    pub fn new(
        group: &'static str,
        what: impl Into<String>,
        expected: impl Into<String>,
        trial: impl Fn(&Stage) -> Result<String, Problem> + Send + Sync + 'static,
    ) -> Fault {
        Fault { group, what: what.into(), expected: expected.into(), trial: Box::new(trial) }
    }

    /// Tries it once.
    ///
    /// # Errors
    /// Something else was seen than expected; the sentence says what.
    pub fn try_it(&self, stage: &Stage) -> Result<String, Problem> {
        (self.trial)(stage)
    }
}

/// All faults, in the order of the document.
pub fn all() -> Vec<Fault> {
    let mut faults = machines::faults();
    faults.extend(targets::faults());
    faults.extend(clients::faults());
    faults.extend(environment::faults());
    faults.extend(files::faults());
    faults.extend(neighbours::faults());
    faults.extend(hooks::faults());
    faults.extend(endings::faults());
    faults.extend(hostile::faults());
    faults.extend(disks::faults());
    faults.extend(costs::faults());
    faults
}
