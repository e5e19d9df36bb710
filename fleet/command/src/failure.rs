//! Why the command fails: one sentence and an exit code.

use datafusion::error::DataFusionError;
use headway_model::printable;
use headway_ship::QueueError;
use headway_store::{without_answer, StoreError};
use std::fmt;

/// Why the command fails.
#[derive(Debug)]
pub enum Failure {
    /// Something did not work: 1.
    Failed(String),
    /// The question or an option makes no sense: 2.
    Usage(String),
    /// Recordings were damaged; what could be read was used: 4.
    Damaged(String),
    /// What `--fail` asks about was found: 5.
    Found(String),
    /// A query reached the bound of memory: 1.
    Memory,
    /// Somebody else says why; this is the code.
    Said(u8),
}

/// The sentence for [`Failure::Memory`].
const MEMORY: &str =
    "the query needs more memory than --memory allows. Raise --memory (in MiB), or select one service or \
    fewer days";

impl Failure {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Failed(_) | Failure::Memory => 1,
            Failure::Usage(_) => 2,
            Failure::Damaged(_) => 4,
            Failure::Found(_) => 5,
            Failure::Said(code) => *code,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Failed(text) | Failure::Usage(text) | Failure::Damaged(text) | Failure::Found(text) => {
                f.write_str(&printable(text))
            }
            Failure::Memory => f.write_str(MEMORY),
            Failure::Said(code) => write!(f, "ended with exit code {code}"),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Failed(error.to_string())
    }
}

impl From<QueueError> for Failure {
    fn from(error: QueueError) -> Failure {
        Failure::Failed(error.to_string())
    }
}

impl From<DataFusionError> for Failure {
    fn from(error: DataFusionError) -> Failure {
        // What the store says of itself, without the names of what stands between.
        if let Some(of_store) = of_store(&error) {
            return Failure::Failed(of_store.to_string());
        }
        let text = without_answer(&error.strip_backtrace());
        // The first line says it; others are contexts and hints for developers.
        let line = plainly(text.lines().next().unwrap_or_default());
        match error.find_root() {
            DataFusionError::SQL(..) | DataFusionError::Plan(_) | DataFusionError::SchemaError(..) => {
                Failure::Usage(line)
            }
            DataFusionError::Diagnostic(..) => Failure::Usage(line),
            // Its text names consumers of the engine.
            DataFusionError::ResourcesExhausted(_) => Failure::Memory,
            _ => Failure::Failed(line),
        }
    }
}

/// Why the store failed beneath an engine's error, if it says so.
fn of_store(error: &DataFusionError) -> Option<&StoreError> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

/// What the engine says of a question, in our words where it has a cause that a name explains.
fn plainly(line: &str) -> String {
    let line = line.strip_prefix("Error during planning: ").unwrap_or(line);
    let unknown = line.strip_prefix("table 'datafusion.public.").and_then(|rest| rest.strip_suffix("' not found"));
    match unknown {
        Some(name) => format!("there is no table or view {name}: `SHOW TABLES` lists them"),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_table_is_said_plainly() {
        let said = |text: &str| Failure::from(DataFusionError::Plan(text.to_owned())).to_string();
        let unknown = "there is no table or view nope: `SHOW TABLES` lists them";
        assert_eq!(said("table 'datafusion.public.nope' not found"), unknown);
        assert_eq!(said("DML not supported: COPY"), "DML not supported: COPY");
    }

    #[test]
    fn the_bound_of_memory_is_said_plainly_wherever_it_is_reached() {
        let reached =
            || DataFusionError::ResourcesExhausted("Failed to allocate 1.0 MB for GroupedHashAggregate".into());
        let wrapped = DataFusionError::ArrowError(
            Box::new(datafusion::arrow::error::ArrowError::ExternalError(Box::new(reached()))),
            None,
        );
        for error in [reached(), reached().context("a part of the plan"), wrapped] {
            let failure = Failure::from(error);
            assert_eq!((failure.code(), failure.to_string().as_str()), (1, MEMORY));
        }
    }

    #[test]
    fn a_store_that_fails_beneath_the_engine_says_so_itself() {
        let silent = || StoreError::NoAnswer("s3://locks/rows".into(), "no connection");
        let object = || object_store::Error::Generic { store: "Headway", source: Box::new(silent()) };
        let parquet = parquet::errors::ParquetError::External(Box::new(object()));
        for error in
            [DataFusionError::ObjectStore(Box::new(object())), DataFusionError::ParquetError(Box::new(parquet))]
        {
            let failure = Failure::from(error.context("a part of the plan"));
            assert_eq!((failure.code(), failure.to_string()), (1, silent().to_string()));
        }
    }
}
