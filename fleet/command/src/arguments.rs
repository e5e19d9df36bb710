//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Many machines' recordings: a store of per-minute rows, and SQL over it
#[derive(Debug, Parser)]
#[command(name = "headway-fleet", version, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Answer a question in SQL about a store or about recordings
    Sql(Question),
    /// Add one summary per minute of each recording to a store
    Ingest(Ingest),
    /// Show, compact or remove what is in a store
    Fleet(Fleet),
}

/// `sql`.
#[derive(Debug, Args)]
pub struct Question {
    /// One SELECT statement; SHOW TABLES lists tables and views
    pub query: String,
    /// A store (directory or s3://bucket/prefix), or recordings
    #[arg(default_value = ".")]
    pub paths: Vec<String>,
    /// How to write the answer
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Write the answer to this file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Memory that the query may take, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub memory: usize,
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table to read
    #[default]
    Table,
    /// Comma-separated values with a header
    Csv,
    /// One JSON object per line
    Json,
    /// A Parquet file; needs --output
    Parquet,
}

/// `ingest`.
#[derive(Debug, Args)]
#[command(disable_version_flag = true)]
pub struct Ingest {
    /// Recordings
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The store: a directory, made if there is none, or s3://bucket/prefix
    #[arg(long, value_name = "PLACE")]
    pub store: String,
    /// The service of which the recorded JVMs are instances
    #[arg(long)]
    pub service: String,
    /// The version of the service
    #[arg(long)]
    pub version: String,
    /// The machine, container or pod that was recorded [default: this machine]
    #[arg(long)]
    pub host: Option<String>,
    /// production, staging and so on
    #[arg(long, default_value = "")]
    pub environment: String,
    /// Another value to group by; repeatable
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = label)]
    pub labels: Vec<String>,
    /// CPUs of that machine
    #[arg(long)]
    pub cpus: Option<u32>,
}

fn label(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((name, _)) if !name.is_empty() => Ok(text.to_owned()),
        _ => Err("a label is NAME=VALUE".to_owned()),
    }
}

/// `fleet`.
#[derive(Debug, Args)]
pub struct Fleet {
    #[command(subcommand)]
    pub task: Task,
}

/// What is done with a store.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Show days, batches, files and rows
    Status(Place),
    /// Compact: make one file of each day's files, and delete files that nothing has used for a day
    Compact(Place),
    /// Remove days that are older
    Retain {
        /// Days to keep, today included
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
        days: u32,
        #[command(flatten)]
        place: Place,
    },
    /// Remove all rows of a service
    RemoveService {
        /// The service
        service: String,
        #[command(flatten)]
        place: Place,
    },
}

/// Which store.
#[derive(Debug, Args)]
pub struct Place {
    /// The store: a directory or s3://bucket/prefix
    #[arg(long, value_name = "PLACE")]
    pub store: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
