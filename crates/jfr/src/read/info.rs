//! Facts about the recording, gathered from the events that report them.

use super::cursor::{Cursor, Text};
use super::resolve::Resolver;
use super::schema::{Schema, Unit, Value};
use headway_model::event::RecordingInfo;
use headway_model::TimeNs;
use std::collections::HashMap;

/// Settings beyond this number are left out: nobody makes that many.
const MAX_SETTINGS: usize = 20_000;

/// What the info events of a chunk say, on top of what is known already.
pub(crate) struct InfoGatherer {
    pub(crate) info: RecordingInfo,
    settings: Vec<(String, String)>,
}

impl InfoGatherer {
    pub(crate) fn new(known: RecordingInfo) -> InfoGatherer {
        InfoGatherer { info: known, settings: Vec::new() }
    }

    /// Takes in an event of kind `Info`; `None` if it is damaged.
    pub(crate) fn event(
        &mut self,
        ty: usize,
        body: &mut Cursor<'_>,
        schema: &Schema,
        resolver: &Resolver,
    ) -> Option<()> {
        let ty = &schema.types[ty];
        let mut setting = (0u64, String::new(), String::new());
        for field in &ty.fields {
            let value = schema.value(field, body)?;
            let text = || match &value {
                Value::Text(Text::Here(text)) => text.clone(),
                Value::Text(Text::Constant(key)) => resolver.string(*key).to_string(),
                _ => String::new(),
            };
            let number = if let Value::Number(number) = value { number } else { 0 };
            match (&*ty.name, &*field.name) {
                ("jdk.JVMInformation", "jvmName") => self.info.jvm_name = text(),
                ("jdk.JVMInformation", "jvmVersion") => self.info.jvm_version = short_version(text()),
                ("jdk.JVMInformation", "jvmArguments") => self.info.jvm_arguments = text(),
                ("jdk.JVMInformation", "javaArguments") => self.info.java_arguments = text(),
                ("jdk.JVMInformation", "pid") => self.info.pid = number as u32,
                ("jdk.JVMInformation", "jvmStartTime") => {
                    let scale = if let Unit::EpochTime(nanos) = field.unit { nanos } else { 1_000_000 };
                    self.info.jvm_start = TimeNs(number.saturating_mul(scale));
                }
                ("jdk.ActiveSetting", "id") => setting.0 = number,
                ("jdk.ActiveSetting", "name") => setting.1 = text(),
                ("jdk.ActiveSetting", "value") => setting.2 = text(),
                ("headway.Recording", "producer") => self.info.producer = text(),
                _ => {}
            }
        }
        // What Headway says of event types follows from what it says of the recording.
        let derived = schema.id_of("headway.Recording").is_some_and(|recording| recording != setting.0);
        if &*ty.name == "jdk.ActiveSetting" && !derived && self.settings.len() < MAX_SETTINGS {
            self.settings.push((setting_name(setting.0, setting.1, schema), setting.2));
        }
        Some(())
    }

    /// Notes which of a recording's samplers counts.
    pub(crate) fn sampler(&mut self, name: &str) {
        self.settings.push(("engine".to_owned(), name.to_owned()));
    }

    /// What is known now.
    pub(crate) fn finish(mut self) -> RecordingInfo {
        if !self.settings.is_empty() {
            self.info.settings = latest(self.settings);
        }
        self.info
    }
}

/// Each setting once, with what was said of it last: a recording says all of
/// them again when one changes.
fn latest(said: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut places = HashMap::new();
    let mut settings: Vec<(String, String)> = Vec::new();
    for (name, value) in said {
        let place = *places.entry(name.clone()).or_insert(settings.len());
        match settings.get_mut(place) {
            Some(known) => known.1 = value,
            None => settings.push((name, value)),
        }
    }
    settings
}

/// `17.0.15+6` of `OpenJDK 64-Bit Server VM (17.0.15+6) for linux-amd64 JRE (17.0.15+6), built on ...`.
fn short_version(full: String) -> String {
    let inside = full.split_once(" JRE (").and_then(|(_, rest)| rest.split_once(')'));
    inside.map(|(version, _)| version.to_owned()).unwrap_or(full)
}

/// JFR's settings belong to an event type, `jdk.JavaMonitorEnter#threshold`;
/// Headway's to the recording.
fn setting_name(event: u64, name: String, schema: &Schema) -> String {
    match schema.index(event).map(|index| &schema.types[index]) {
        Some(ty) if ty.is_event && &*ty.name != "headway.Recording" => format!("{}#{name}", ty.name),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::{latest, short_version};

    #[test]
    fn versions_are_short() {
        let full = "OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1) for linux-amd64 JRE (17.0.15+6-Debian-1deb12u1), built on May  1";
        assert_eq!(short_version(full.to_owned()), "17.0.15+6-Debian-1deb12u1");
        assert_eq!(short_version("25+37".to_owned()), "25+37");
    }

    #[test]
    fn what_was_said_last_holds() {
        let said = [("a", "1"), ("b", "2"), ("a", "3"), ("c", "4")].map(|(n, v)| (n.to_owned(), v.to_owned()));
        let settings = [("a", "3"), ("b", "2"), ("c", "4")].map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(latest(said.to_vec()), settings);
    }
}
