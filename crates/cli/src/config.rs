//! Defaults of options from a file and from the environment. What is typed comes
//! first, then the environment (`HEADWAY_REPORT_TOP=20`), then the file, then what
//! `--help` says.
//!
//! The file is TOML: a table per command, a key per long option.
//!
//! ```toml
//! color = "never"
//! [report]
//! top = 20
//! by = "lock-name,owner-method"
//! ```

use crate::error::Failure;
use crate::suggest;
use clap::{Arg, Command};
use std::io::ErrorKind::{NotFound, PermissionDenied};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Says where the file is; empty: there is none.
const VARIABLE: &str = "HEADWAY_CONFIG";

/// Where the file is, and whether it must be there, because somebody named it.
fn place() -> Option<(PathBuf, bool)> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        return (!named.is_empty()).then(|| (named.into(), true));
    }
    let base = std::env::var_os("XDG_CONFIG_HOME").filter(|base| !base.is_empty()).map(PathBuf::from);
    let base = base.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config")))?;
    Some((base.join("headway/config.toml"), false))
}

/// What the file says.
#[derive(Debug)]
pub struct Config {
    path: PathBuf,
    table: Table,
}

impl Config {
    /// Reads the file; `None` if there is none.
    ///
    /// # Errors
    /// The file cannot be read, or is no TOML.
    pub fn read() -> Result<Option<Config>, Failure> {
        let Some((path, must_be_there)) = place() else { return Ok(None) };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            // HOME may be another user's, as after `su`.
            Err(error) if !must_be_there && matches!(error.kind(), NotFound | PermissionDenied) => return Ok(None),
            Err(error) => {
                let sentence = format!("cannot read the config file {} ({VARIABLE} names another)", path.display());
                return Err(Failure::doing(sentence)(error));
            }
        };
        let table = text.parse::<Table>().map_err(|error| {
            let line = error.span().map_or(0, |span| text.get(..span.start).unwrap_or_default().matches('\n').count());
            wrong(&path, &format!("line {}: {}", line + 1, error.message()))
        })?;
        Ok(Some(Config { path, table }))
    }

    /// The command line whose defaults are those of the file.
    ///
    /// # Errors
    /// A command or an option that there is not, or a value of the wrong kind.
    pub fn apply(&self, command: Command) -> Result<Command, Failure> {
        self.apply_table(command, &self.table, "headway")
    }

    /// The failure that a value of the file is to blame for.
    pub fn blame(&self, failure: &Failure) -> Failure {
        wrong(&self.path, &failure.to_string())
    }

    fn apply_table(&self, mut command: Command, table: &Table, name: &str) -> Result<Command, Failure> {
        for (key, value) in table {
            command = match value {
                Value::Table(inner) => self.apply_subcommand(command, key, inner, name)?,
                value => self.apply_option(command, key, value, name)?,
            };
        }
        Ok(command)
    }

    fn apply_subcommand(&self, command: Command, key: &str, table: &Table, name: &str) -> Result<Command, Failure> {
        let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        if !known.contains(&key) {
            let hint = suggest::did_you_mean(key, known);
            return Err(wrong(&self.path, &format!("`{name}` has no command \"{key}\"{hint}")));
        }
        let mut applied = Ok(());
        let command = command.mut_subcommand(key, |inner| {
            self.apply_table(inner.clone(), table, &format!("{name} {key}")).unwrap_or_else(|failure| {
                applied = Err(failure);
                inner
            })
        });
        applied.map(|()| command)
    }

    fn apply_option(&self, command: Command, key: &str, value: &Value, name: &str) -> Result<Command, Failure> {
        let Some(arg) = command.get_arguments().find(|arg| arg.get_long() == Some(key)) else {
            let known = command.get_arguments().filter_map(Arg::get_long);
            let hint = suggest::did_you_mean(key, known);
            return Err(wrong(&self.path, &format!("`{name}` has no option \"{key}\"{hint}")));
        };
        if excludes_others(&command, arg) {
            let sentence = format!("{key} of `{name}` excludes other options, so it can only be typed");
            return Err(wrong(&self.path, &sentence));
        }
        let values = texts(value).ok_or_else(|| wrong(&self.path, &format!("{key} takes no {}", value.type_str())))?;
        let id = arg.get_id().clone();
        Ok(command.mut_arg(id, |arg| arg.default_values(values)))
    }
}

/// True if an option cannot stand together with another one. A default would then go
/// along with what is typed instead of giving way to it.
fn excludes_others(command: &Command, arg: &Arg) -> bool {
    !command.get_arg_conflicts_with(arg).is_empty()
        || command
            .get_arguments()
            .any(|other| command.get_arg_conflicts_with(other).iter().any(|found| found.get_id() == arg.get_id()))
}

/// A value as it would be typed; a list is an option given several times.
fn texts(value: &Value) -> Option<Vec<String>> {
    Some(match value {
        Value::String(text) => vec![text.clone()],
        Value::Integer(number) => vec![number.to_string()],
        Value::Float(number) => vec![number.to_string()],
        Value::Boolean(truth) => vec![truth.to_string()],
        Value::Array(items) => items.iter().map(texts).collect::<Option<Vec<_>>>()?.concat(),
        Value::Table(_) | Value::Datetime(_) => return None,
    })
}

fn wrong(path: &Path, what: &str) -> Failure {
    Failure::Usage(format!("config file {}: {what}", path.display()))
}

/// The command line, each of whose options can be set by a variable:
/// `HEADWAY_REPORT_MIN_DURATION` for `headway report --min-duration`.
pub fn with_environment(command: Command) -> Command {
    variables(command, "HEADWAY")
}

fn variables(command: Command, prefix: &str) -> Command {
    let command = command.mut_args(|arg| {
        let Some(long) = arg.get_long().filter(|_| arg.get_env().is_none()) else { return arg };
        let name = format!("{prefix}_{}", long.to_uppercase().replace('-', "_"));
        arg.env(name).hide_env(true)
    });
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        let prefix = format!("{prefix}_{}", name.to_uppercase());
        command.mut_subcommand(name, |inner| variables(inner, &prefix))
    })
}
