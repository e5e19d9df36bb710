//! What can be typed. Each command's own options stand in its file under
//! `command/`; this file joins them and turns mistakes into sentences.

use crate::command::{
    causal::Causal, completion::Completion, diff::Diff, dump::Dump, export::Export, flame::Flame, fleet::Fleet,
    list::List, man::Man, metrics::Metrics, parks::Parks, record::Record, report::Report, run::Run, start::Start,
    status::Status, stop::Stop, top::Top, view::View,
};
use crate::config::{self, Config};
use crate::error::Failure;
use crate::suggest;
use crate::terminal::{self, ColorChoice};
use clap::builder::styling::{AnsiColor, Styles};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::num::{IntErrorKind, ParseIntError};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Everything that follows the examples of the top-level help.
const EXAMPLES: &str = "\
Examples:
  headway run -- java -jar app.jar      record every JVM that a command starts
  headway record -d 30 4711             record a running JVM for 30 seconds
  headway report headway-4711-*.jfr     who blocked whom, and for how long

Exit codes:
  0  done
  1  failure
  2  wrong usage, or the name fits no JVM or more than one
  3  the process cannot be profiled
  4  the recording is damaged (its readable part is shown), or is not a recording
  5  `fleet regressions --fail` found a lock with more blocked time than before
`run` ends with the code of the command that it ran.";

/// `./hw dist` gives the text of a release, which names the commit.
const VERSION: &str = match option_env!("HEADWAY_VERSION") {
    Some(of_release) => of_release,
    None => concat!(env!("CARGO_PKG_VERSION"), " (", env!("HEADWAY_COMMIT"), ", ", env!("HEADWAY_BUILD"), ")"),
};

/// Shows which locks block the threads of a JVM, for how long, and what the
/// owner of each lock (the thread that has it) did meanwhile.
#[derive(Debug, Parser)]
#[command(name = "headway", version = VERSION, styles = STYLES, after_help = EXAMPLES, max_term_width = 100)]
#[command(propagate_version = true, arg_required_else_help = true, infer_long_args = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// Colour the output: auto (on a terminal, unless NO_COLOR is set), always or never
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t, hide_possible_values = true)]
    pub color: ColorChoice,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the running JVMs.
    List(List),
    /// Run a command and record every JVM that it starts.
    Run(Run),
    /// Record a running JVM for some time, then show the report.
    Record(Record),
    /// Start a recording of a running JVM; `dump` copies it, `stop` ends it.
    Start(Start),
    /// Stop the recording of a running JVM and finish its file.
    Stop(Stop),
    /// Copy what has been recorded so far into a file; the recording continues.
    Dump(Dump),
    /// Show which parts of Headway work in a running JVM, which do not, and why.
    Status(Status),
    /// Show which locks block threads of a running JVM, live.
    Top(Top),
    /// Serve metrics of a running JVM to Prometheus.
    Metrics(Metrics),
    /// Show what a recording contains: who blocked whom, and for how long.
    Report(Report),
    /// Show recordings in the browser: who blocked whom and when, with the call stacks of both threads.
    View(View),
    /// Show how often and how long threads parked on each object: a lock, queue or pool.
    Parks(Parks),
    /// Estimate by experiments what the program would gain if a method or line were faster, or a lock were held for less time.
    Causal(Causal),
    /// Write a flame graph of CPU, wall-clock or blocked time.
    Flame(Flame),
    /// Compare two recordings: which locks or methods take a larger or smaller share of the time.
    Diff(Diff),
    /// Convert a recording for other tools: uncompressed JFR, pprof, Firefox Profiler, ...
    Export(Export),
    /// With headway-fleet (a separate program): run an SQL query over many recordings.
    Sql(Fleet),
    /// With headway-fleet: summarize recordings by minute in a store, which `sql` can query.
    Ingest(Fleet),
    /// With headway-fleet: record the JVMs of this machine, and send a summary of each minute to a store.
    Ship(Fleet),
    /// With headway-fleet: show, compare, compact or remove what is in a store.
    Fleet(Fleet),
    /// Print a completion script for a shell.
    Completion(Completion),
    /// Print the manual page.
    Man(Man),
}

/// Reads the process's arguments.
///
/// # Errors
/// A [`Failure`] with our own sentence for the common mistakes, clap's
/// otherwise. Asking for help or the version is such a "failure" with code 0.
pub fn parse() -> Result<Command, Failure> {
    let config = Config::read()?;
    let command = match &config {
        Some(config) => config.apply(Arguments::command())?,
        None => Arguments::command(),
    };
    match read(command) {
        Ok(arguments) => {
            terminal::choose_colours(arguments.color);
            Ok(arguments.command)
        }
        // Without the file all is well: the file it is.
        Err(failure @ Failure::Usage(_)) => Err(match config {
            Some(config) if read(Arguments::command()).is_ok() => config.blame(&failure),
            _ => failure,
        }),
        Err(failure) => Err(failure),
    }
}

/// Reads what was typed.
fn read(command: clap::Command) -> Result<Arguments, Failure> {
    let matches = config::with_environment(command).try_get_matches().map_err(explain)?;
    Arguments::from_arg_matches(&matches).map_err(explain)
}

/// A sentence for the mistakes that people coming from other tools make.
fn explain(error: clap::Error) -> Failure {
    let word = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let typed = word(ContextKind::InvalidSubcommand).unwrap_or_default();
            // `headway help --help`: what it helps with is all commands.
            if let ("--help" | "-h", Err(help)) =
                (typed.as_str(), Arguments::command().try_get_matches_from(["headway", &typed]))
            {
                return Failure::Clap(help);
            }
            Failure::Usage(unknown_command(&typed))
        }
        ErrorKind::UnknownArgument => {
            let typed = word(ContextKind::InvalidArg).unwrap_or_default();
            Failure::Usage(if typed.starts_with('-') { unknown_option(&typed) } else { one_too_many(&typed) })
        }
        ErrorKind::TooManyValues => {
            let (argument, value) = (word(ContextKind::InvalidArg), word(ContextKind::InvalidValue));
            let (argument, value) = (argument.unwrap_or_default(), value.unwrap_or_default());
            let option = argument.split([' ', '=']).next().unwrap_or_default();
            Failure::Usage(match option.starts_with('-') {
                true => format!("{option} takes no value: leave \"{value}\" out"),
                false => one_too_many(&value),
            })
        }
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => match reason(&error) {
            Some(sentence) => {
                let option = word(ContextKind::InvalidArg).unwrap_or_default();
                let option = option.split([' ', '=']).next().unwrap_or_default().to_owned();
                Failure::Usage(format!("{option}: {sentence}"))
            }
            None => Failure::Usage(one_of(&error).unwrap_or_else(|| without_value(&error))),
        },
        ErrorKind::MissingRequiredArgument => Failure::Usage(missing(&error)),
        ErrorKind::ArgumentConflict => Failure::Usage(conflict(&error)),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Failure::Clap(error)
        }
        _ => Failure::Usage(first_line(&error)),
    }
}

/// What is said where the command line lacks something that the command needs.
fn missing(error: &clap::Error) -> String {
    let needed = names(error, ContextKind::InvalidArg);
    let list = match needed.contains("PID") {
        true => "`headway list` shows the running JVMs, ",
        false => "",
    };
    match typed_command() {
        Some(command) if !needed.is_empty() => {
            format!(
                "`headway {command}` needs {needed}: {list}`headway {command} --help` shows its arguments and options"
            )
        }
        _ => first_line(error),
    }
}

/// What is said of an option at the end of the line that needs a value.
fn without_value(error: &clap::Error) -> String {
    let argument = names(error, ContextKind::InvalidArg);
    match (argument.split_once(' '), typed_command()) {
        (Some((option, value)), Some(command)) => {
            format!("{option} needs a value ({value}): `headway {command} --help` explains it")
        }
        _ => first_line(error),
    }
}

/// What is said of an option that stands there twice, or beside one that excludes it.
fn conflict(error: &clap::Error) -> String {
    let option = |kind| names(error, kind).split(' ').next().unwrap_or_default().to_owned();
    let (one, other) = (option(ContextKind::InvalidArg), option(ContextKind::PriorArg));
    match (one.is_empty() || other.is_empty(), one == other) {
        (true, _) => first_line(error),
        (_, true) => format!("{one} may be given only once"),
        _ => format!("{one} and {other} exclude each other: leave one of them out"),
    }
}

/// The names of arguments that an error speaks of, without the brackets around them.
fn names(error: &clap::Error, kind: ContextKind) -> String {
    let bare = |name: &String| name.replace(['<', '>'], "").replace("...", "");
    match error.get(kind) {
        Some(ContextValue::String(name)) => bare(name),
        Some(ContextValue::Strings(names)) => names.iter().map(bare).collect::<Vec<_>>().join(" and "),
        _ => String::new(),
    }
}

/// What the parser's library says, without its hints.
fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    format!("{} (`headway --help` shows the commands)", line.trim_start_matches("error: "))
}

/// The command as it was typed, with the one below it, if there are such.
fn typed_command() -> Option<String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let commands = Arguments::command();
    // Options that all commands have may come before it.
    let at = words.iter().position(|word| commands.find_subcommand(word).is_some())?;
    let command = commands.find_subcommand(words.get(at)?)?;
    Some(match words.get(at + 1).and_then(|word| command.find_subcommand(word)) {
        Some(below) => format!("{} {}", command.get_name(), below.get_name()),
        None => command.get_name().to_owned(),
    })
}

/// What is said of a value that is none of a few words.
fn one_of(error: &clap::Error) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let Some(ContextValue::Strings(words)) = error.get(ContextKind::ValidValue) else { return None };
    let option = text(ContextKind::InvalidArg)?.split([' ', '=']).next()?;
    let value = text(ContextKind::InvalidValue).filter(|value| !value.is_empty())?;
    let hint = suggest::did_you_mean(value, words.iter().map(String::as_str));
    Some(format!("{option}: unknown value \"{value}\"{hint} (values: {})", words.join(", ")))
}

/// Why a value was refused. The library's own parsers speak of digits, ours say what
/// is expected.
fn reason(error: &clap::Error) -> Option<String> {
    use std::error::Error;
    let source = error.source()?;
    let value = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) => value.as_str(),
        _ => "",
    };
    if let Some(error) = source.downcast_ref::<ParseIntError>() {
        return Some(match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => format!("{value} is too large a number"),
            _ => format!("expected a whole number such as 100, not \"{value}\""),
        });
    }
    let sentence = source.to_string();
    let range = sentence.strip_prefix(value).and_then(|rest| rest.strip_prefix(" is not in ")?.split_once(".."));
    Some(match range {
        Some((_, most)) if !most.is_empty() && !value.starts_with(['-', '0']) => {
            format!("expected a whole number of at most {}, not {value}", most.trim_start_matches('='))
        }
        Some((least, _)) => format!("expected a whole number of at least {least}, not {value}"),
        None => sentence,
    })
}

fn unknown_command(typed: &str) -> String {
    let names = command_names();
    // What `headway help` takes for a command.
    if typed.starts_with('-') {
        return format!("{typed} is not a command: `headway help COMMAND` or `headway COMMAND --help` shows its help");
    }
    if typed.parse::<u32>().is_ok() {
        return format!("to record process {typed}, say `headway record {typed}`");
    }
    let hint = suggest::did_you_mean(typed, names.iter().map(String::as_str));
    format!("there is no command \"{typed}\"{hint} (commands: {})", names.join(", "))
}

fn one_too_many(typed: &str) -> String {
    match typed_command() {
        Some(command) => format!(
            "\"{typed}\" is one argument too many for `headway {command}` (`headway {command} --help` shows its arguments)"
        ),
        None => format!("\"{typed}\" is one argument too many (`headway --help` shows what there is)"),
    }
}

fn unknown_option(typed: &str) -> String {
    let command = std::env::args().nth(1).unwrap_or_default();
    // `-d -5s`: what follows an option is taken for an option if it begins with a dash.
    if typed.trim_start_matches('-').starts_with(|first: char| first.is_ascii_digit()) {
        return format!("{typed} is neither an option nor a value: only `--from` and `--to` can be below zero");
    }
    let options = options_of(&command);
    let bare = typed.split('=').next().unwrap_or(typed);
    // Every option begins with dashes; what they have in common is no hint.
    let hint = suggest::nearest(bare.trim_start_matches('-'), options.iter().map(String::as_str));
    let hint = hint.map_or_else(String::new, |option| format!("; did you mean \"--{option}\"?"));
    match options.is_empty() {
        true => match commands_with(bare).first() {
            Some(first) => {
                format!("{bare} is an option of commands: write it after the command, as in `headway {first} {bare}`")
            }
            None => format!("there is no option {bare} (`headway --help` shows what there is)"),
        },
        false => {
            format!("`headway {command}` has no option {bare}{hint} (`headway {command} --help` shows its options)")
        }
    }
}

/// Commands that have this option.
fn commands_with(option: &str) -> Vec<String> {
    let name = option.trim_start_matches('-');
    command_names().into_iter().filter(|command| options_of(command).iter().any(|one| one == name)).collect()
}

fn command_names() -> Vec<String> {
    Arguments::command().get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

fn options_of(command: &str) -> Vec<String> {
    Arguments::command()
        .find_subcommand(command)
        .map(|command| command.get_arguments().filter_map(|a| a.get_long()).map(str::to_owned).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn what_is_no_number_gets_a_sentence_that_says_so() {
        let refused = |words: &[&str]| match Arguments::try_parse_from(words).map_err(explain) {
            Err(Failure::Usage(sentence)) => sentence,
            other => panic!("{:?}", other.map(|_| "taken")),
        };
        let sentence = "--threshold: expected a whole number such as 100, not \"x\"";
        assert_eq!(refused(&["headway", "parks", "--threshold", "x", "4711"]), sentence);
        for (option, value, sentence) in [
            ("--top", "3.5", "--top: expected a whole number such as 100, not \"3.5\""),
            ("--top", "0", "--top: expected a whole number of at least 1, not 0"),
            ("--top", "99999999999999999999", "--top: 99999999999999999999 is too large a number"),
            ("--top", "5000000000", "--top: expected a whole number of at most 4294967295, not 5000000000"),
        ] {
            assert_eq!(refused(&["headway", "report", option, value, "a.jfr"]), sentence);
        }
        let sentence = "--port: expected a whole number of at most 65535, not 70000";
        assert_eq!(refused(&["headway", "view", "--port", "70000", "a.jfr"]), sentence);
    }

    #[test]
    fn each_mistake_gets_one_line() {
        let refused = |words: &[&str]| match Arguments::try_parse_from(words).map_err(explain) {
            Err(Failure::Usage(sentence)) => sentence,
            other => panic!("{:?}", other.map(|_| "taken")),
        };
        assert_eq!(
            refused(&["headway", "report", "a", "--from", "1s", "--from", "2s"]),
            "--from may be given only once"
        );
        let both = refused(&["headway", "record", "1", "--exact", "--budget", "1%"]);
        assert_eq!(both, "--exact and --budget exclude each other: leave one of them out");
        for words in [&["headway", "record"][..], &["headway", "report", "--top"], &["headway", "diff", "a.jfr"]] {
            let sentence = refused(words);
            assert!(!sentence.contains('\n') && !sentence.contains("error:"), "{sentence}");
        }
    }

    #[test]
    fn unknown_commands_get_a_sentence_that_helps() {
        assert_eq!(unknown_command("4711"), "to record process 4711, say `headway record 4711`");
        assert!(unknown_command("--help").starts_with("--help is not a command: `headway help COMMAND` or "));
        assert!(unknown_command("reprot").contains("did you mean \"report\"?"));
        assert!(unknown_command("zebra").starts_with("there is no command \"zebra\" (commands: list, run,"));
    }
}
