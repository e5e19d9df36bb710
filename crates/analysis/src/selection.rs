//! Which threads and which time a report is about, where something is left out: of the recording, of the report, or of
//! both.

use crate::options::ThreadFilter;
use headway_model::{printable, DurationNs};
use serde::Serialize;

/// The recording's setting.
const SETTING: &str = "threads";

/// What was left out: threads, by regular expressions on their names, and time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Selection {
    /// Only threads with such names were recorded; `null` if all were.
    pub recorded: Option<String>,
    /// Only threads with such names are counted in the report; `null` if all are.
    pub reported: Option<String>,
    /// Where the reported time begins, in ns since the recording began; `null` if all of it is reported.
    pub from_ns: Option<u64>,
    /// Where the reported time ends, in ns since the recording began; `null` if all of it is reported.
    pub to_ns: Option<u64>,
}

impl Selection {
    /// The filters of a recording with these settings, and of what is asked about it.
    pub(crate) fn new(settings: &[(String, String)], asked: Option<&ThreadFilter>) -> Selection {
        let recorded = settings.iter().find(|(name, value)| name == SETTING && !value.is_empty());
        let shown = |pattern: &str| printable(pattern).into_owned();
        Selection {
            recorded: recorded.map(|(_, pattern)| shown(pattern)),
            reported: asked.map(|filter| shown(filter.pattern())),
            ..Selection::default()
        }
    }

    /// Of this time alone, in ns since the recording began.
    pub(crate) fn of_time(self, from_ns: u64, to_ns: u64) -> Selection {
        Selection { from_ns: Some(from_ns), to_ns: Some(to_ns), ..self }
    }

    /// True if all threads are in the report.
    pub fn is_everything(&self) -> bool {
        self.recorded.is_none() && self.reported.is_none()
    }

    /// ``Only threads whose names match `http-.*` were recorded (record --threads).``; `None` if nothing is left out.
    pub fn sentence(&self) -> Option<String> {
        let of = |filter: &Option<String>, what: &str| {
            filter.as_ref().map(|pattern| format!("Only threads whose names match `{pattern}` {what}."))
        };
        let said =
            [of(&self.recorded, "were recorded (record --threads)"), of(&self.reported, "are counted (--threads)")];
        let time = self.from_ns.zip(self.to_ns).map(|(from, to)| {
            let from = if from == 0 { "the start".to_owned() } else { DurationNs(from).to_string() };
            format!("Only the time from {from} to {} is counted (--from, --to).", DurationNs(to))
        });
        let said: Vec<String> = said.into_iter().chain([time]).flatten().collect();
        (!said.is_empty()).then(|| said.join(" "))
    }

    /// What a report's time is: `recording` or `selected time`.
    pub(crate) fn time(&self) -> &'static str {
        match self.from_ns {
            None => "recording",
            Some(_) => "selected time",
        }
    }

    /// The beginning of a sentence about none of the threads: `No thread`.
    pub(crate) fn no_thread(&self) -> String {
        match self.is_everything() {
            true => "No thread".to_owned(),
            false => format!("No thread that matches {}", self.filters()),
        }
    }

    /// That no thread had anything to do.
    pub(crate) fn none_active(&self) -> String {
        match self.is_everything() {
            true => "No bottleneck: no thread of the application was active.".to_owned(),
            false => format!("{} was active.", self.no_thread()),
        }
    }

    /// A sentence that begins with `No bottleneck` and goes on with `rest`.
    pub(crate) fn no_bottleneck(&self, rest: &str) -> String {
        match (&self.recorded, &self.reported) {
            (None, None) => format!("No bottleneck{rest}"),
            (None, Some(_)) => format!("Among the threads that match {}, no bottleneck{rest}", self.filters()),
            // Where the time of the others went is not known: it would count as sleep or native code.
            (Some(_), _) => format!(
                "No bottleneck among the threads that match {}. What blocked other threads was not recorded.",
                self.filters()
            ),
        }
    }

    /// True if only some threads were recorded.
    pub(crate) fn is_of_some(&self) -> bool {
        self.recorded.is_some()
    }

    fn filters(&self) -> String {
        let filters = [&self.recorded, &self.reported].into_iter().flatten();
        filters.map(|pattern| format!("`{pattern}`")).collect::<Vec<_>>().join(" and ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_some_threads_speaks_of_these_only() {
        let selection = |recorded: &str, asked: Option<&str>| {
            let settings = [("threads".to_owned(), recorded.to_owned())];
            Selection::new(&settings, asked.map(|pattern| ThreadFilter::new(pattern, |_| true)).as_ref())
        };
        let all = selection("", None);
        assert_eq!((all.sentence(), all.no_thread().as_str()), (None, "No thread"));
        assert_eq!(all.no_bottleneck(" in locks."), "No bottleneck in locks.");
        let recorded = selection("http", None);
        let sentence = "Only threads whose names match `http` were recorded (record --threads).";
        assert_eq!(recorded.sentence().as_deref(), Some(sentence));
        assert_eq!(
            recorded.no_bottleneck(" in locks."),
            "No bottleneck among the threads that match `http`. What blocked other threads was not recorded."
        );
        let asked = selection("", Some("zzz"));
        assert_eq!(asked.no_bottleneck(" in locks."), "Among the threads that match `zzz`, no bottleneck in locks.");
        assert_eq!(asked.none_active(), "No thread that matches `zzz` was active.");
        let later = all.of_time(3_000_000_000, 5_500_000_000);
        assert_eq!(later.sentence().as_deref(), Some("Only the time from 3.00 s to 5.50 s is counted (--from, --to)."));
        assert_eq!((later.no_thread().as_str(), later.time()), ("No thread", "selected time"));
        let early = Selection::default().of_time(0, 5_000_000_000);
        assert_eq!(
            early.sentence().as_deref(),
            Some("Only the time from the start to 5.00 s is counted (--from, --to).")
        );
        let both = selection("a", Some("b"));
        assert_eq!(both.no_thread(), "No thread that matches `a` and `b`");
    }
}
