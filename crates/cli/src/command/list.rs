//! `headway list`: the running JVMs.

use crate::error::Failure;
use crate::json;
use crate::jvm::{self, users, Jvm, Vm};
use crate::render::records::{self, Record, TableFormat};
use crate::terminal::{self, Screen};
use clap::Args;
use comfy_table::{presets, ContentArrangement, Table};
use headway_model::printable;
use serde::Serialize;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  headway list            the running JVMs, and whether Headway can attach to them
  headway list --json     the same, as JSON for scripts

Columns:
  PID, USER  process id and user of the JVM
  JAVA       Java version; ? if this user may not read it
  ATTACH     yes if Headway can attach to the JVM and record it; no otherwise. A
             line below the table gives the reason for each no.
  HEADWAY    loaded if Headway's agent is in the JVM, otherwise -. The library
             stays loaded after a recording, also after a detach.
  MAIN       main class or jar";

/// Options of `list`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Print the list in a format for scripts
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t, conflicts_with = "json")]
    format: TableFormat,
}

/// The running JVMs that this user can see.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JvmList {
    /// The JVMs.
    pub jvms: Vec<Entry>,
}

/// A running JVM.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Entry {
    /// Process id.
    pid: u32,
    /// The user that it runs as.
    user: String,
    /// `17.0.15`; absent where this user may not read it.
    #[serde(skip_serializing_if = "String::is_empty")]
    java_version: String,
    /// `HotSpot` or `OpenJ9`.
    vm: &'static str,
    /// Main class or jar; empty if unknown.
    main: String,
    /// True if Headway can attach to it.
    attachable: bool,
    /// Why it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// True if Headway's agent is loaded.
    headway_loaded: bool,
}

impl List {
    /// Carries out the command.
    ///
    /// # Errors
    /// Output that cannot be written.
    pub fn execute(self) -> Result<u8, Failure> {
        let entries: Vec<Entry> = jvm::running().iter().map(entry).collect();
        match self.format {
            TableFormat::Csv | TableFormat::Jsonl => {
                records::print(&entries.iter().map(record).collect::<Vec<_>>(), self.format)?;
            }
            _ if self.json || self.format == TableFormat::Json => json::print(JvmList { jvms: entries })?,
            _ => {
                let printed = terminal::print(&table(&entries, &Screen::stdout()));
                printed.map_err(Failure::doing("cannot write to standard output"))?;
            }
        }
        Ok(crate::error::DONE)
    }
}

fn entry(jvm: &Jvm) -> Entry {
    let obstacle = jvm.check_attachable().err();
    Entry {
        pid: jvm.process.pid,
        user: users::name(jvm.process.euid),
        java_version: jvm.java_version.clone(),
        vm: match jvm.vm {
            Vm::HotSpot => "HotSpot",
            Vm::OpenJ9 => "OpenJ9",
        },
        main: jvm.main.clone(),
        attachable: obstacle.is_none(),
        reason: obstacle.map(|failure| failure.to_string()),
        headway_loaded: jvm.agent_path.is_some(),
    }
}

fn record(entry: &Entry) -> Record {
    vec![
        ("pid", json!(entry.pid)),
        ("user", json!(entry.user)),
        ("java_version", json!(entry.java_version)),
        ("vm", json!(entry.vm)),
        ("main", json!(entry.main)),
        ("attachable", json!(entry.attachable)),
        ("reason", json!(entry.reason)),
        ("headway_loaded", json!(entry.headway_loaded)),
    ]
}

fn table(entries: &[Entry], screen: &Screen) -> String {
    if entries.is_empty() {
        return "No JVM is running that this user can see.\n".to_owned();
    }
    let mut table = Table::new();
    if screen.cut {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(u16::try_from(screen.width).unwrap_or(u16::MAX));
    }
    table.load_style(presets::NOTHING).set_header(["PID", "USER", "JAVA", "ATTACH", "HEADWAY", "MAIN"]);
    for entry in entries {
        table.add_row([
            entry.pid.to_string(),
            printable(&entry.user).into_owned(),
            printable(&shown_version(entry)).into_owned(),
            if entry.attachable { "yes" } else { "no" }.to_owned(),
            if entry.headway_loaded { "loaded" } else { "-" }.to_owned(),
            if entry.main.is_empty() { "(unknown)".to_owned() } else { printable(&entry.main).into_owned() },
        ]);
    }
    let mut text: String = table.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
    for entry in entries {
        if let Some(reason) = &entry.reason {
            text.push_str(&format!("{}\n", screen.faint(&format!("  {}", printable(reason)))));
        }
    }
    text
}

fn shown_version(entry: &Entry) -> String {
    match (entry.java_version.as_str(), entry.vm) {
        ("", _) => "?".to_owned(),
        (version, "HotSpot") => version.to_owned(),
        (version, vm) => format!("{version} ({vm})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn an_entry(pid: u32, main: &str, reason: Option<&str>) -> Entry {
        Entry {
            pid,
            user: "app".into(),
            java_version: "17.0.15".into(),
            vm: "HotSpot",
            main: main.into(),
            attachable: reason.is_none(),
            reason: reason.map(str::to_owned),
            headway_loaded: false,
        }
    }

    #[test]
    fn the_table_is_aligned_and_gives_reasons_below() {
        let entries =
            [an_entry(7, "com.acme.Main", None), an_entry(12345, "", Some("process 12345 refuses attaching"))];
        let text = table(&entries, &Screen { width: 80, colour: false, cut: true });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        let column = |line: &str, word: &str| line.find(word);
        assert_eq!(column(lines[0], "MAIN"), column(lines[1], "com.acme.Main"));
        assert_eq!(column(lines[0], "MAIN"), column(lines[2], "(unknown)"));
        assert_eq!(lines[3], "  process 12345 refuses attaching");
    }

    #[test]
    fn json_leaves_out_what_does_not_apply() {
        let value = serde_json::to_value(an_entry(7, "com.acme.Main", None)).expect("JSON");
        assert_eq!(value["pid"], 7);
        assert_eq!(value["attachable"], true);
        assert!(value.get("reason").is_none());
    }
}
