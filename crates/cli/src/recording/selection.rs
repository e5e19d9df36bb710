//! Which threads a report is about, where `--threads` left threads out: of the recording, of the report, or of both.

use headway_analysis::report::FindingKind;
use headway_analysis::Report;
use headway_model::printable;
use regex::Regex;

/// The name of the recording's setting.
const SETTING: &str = "threads";
const NO_BOTTLENECK: &str = "No bottleneck";
const NONE_ACTIVE: &str = "No bottleneck: no thread of the application was active.";
const NONE_BLOCKED: &str = "No thread was blocked";

/// The filters that left threads out.
#[derive(Debug, Default)]
pub struct Selection {
    /// What the names of recorded threads match.
    recorded: Option<String>,
    /// What the names of threads in the report match.
    reported: Option<String>,
}

impl Selection {
    /// The filters of a recording and of the question about it.
    pub fn new(report: &Report, threads: Option<&Regex>) -> Selection {
        let setting = report.recording.settings.iter().find(|(name, value)| name == SETTING && !value.is_empty());
        let shown = |regex: &str| printable(regex).into_owned();
        Selection {
            recorded: setting.map(|(_, regex)| shown(regex)),
            reported: threads.map(|regex| shown(regex.as_str())),
        }
    }

    /// True if all threads are in the report.
    pub fn is_everything(&self) -> bool {
        self.recorded.is_none() && self.reported.is_none()
    }

    /// What is said below the title.
    pub fn sentence(&self) -> Option<String> {
        let of = |filter: &Option<String>, what: &str| {
            filter.as_ref().map(|regex| format!("Only threads whose names match `{regex}` {what}."))
        };
        let said =
            [of(&self.recorded, "were recorded (record --threads)"), of(&self.reported, "are counted (--threads)")];
        let said: Vec<String> = said.into_iter().flatten().collect();
        (!said.is_empty()).then(|| said.join(" "))
    }

    /// Limits what the report says of all threads to those that are in it.
    pub fn limit(&self, report: &mut Report) {
        let filters: Vec<String> =
            [&self.recorded, &self.reported].into_iter().flatten().map(|regex| format!("`{regex}`")).collect();
        if filters.is_empty() {
            return;
        }
        let filters = filters.join(" and ");
        if report.verdict.starts_with(NONE_ACTIVE) {
            report.verdict =
                report.verdict.replacen(NONE_ACTIVE, &format!("No thread that matches {filters} was active."), 1);
        } else if report.verdict.starts_with(NO_BOTTLENECK) && self.recorded.is_some() {
            // Where the time of the others went is not known: it would count as sleep or native code.
            let rest = report.verdict.split_once(". ").map(|(_, rest)| format!(" {rest}")).unwrap_or_default();
            report.verdict = format!(
                "No bottleneck among the threads that match {filters}. What blocked other threads was not recorded.{rest}"
            );
        } else if report.verdict.starts_with(NO_BOTTLENECK) {
            let limited = format!("Among the threads that match {filters}, no bottleneck");
            report.verdict = report.verdict.replacen(NO_BOTTLENECK, &limited, 1);
        }
        for finding in report.findings.iter_mut().filter(|finding| finding.kind == FindingKind::Nothing) {
            finding.text =
                finding.text.replacen(NONE_BLOCKED, &format!("No thread that matches {filters} was blocked"), 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_analysis::report::Finding;

    #[test]
    fn a_report_of_some_threads_speaks_of_these_only() {
        let limited = |verdict: &str, recorded: &str, reported: Option<&str>| {
            let nothing = Finding {
                kind: FindingKind::Nothing,
                text: "No thread was blocked on a lock.".into(),
                ..Finding::default()
            };
            let mut report = Report { verdict: verdict.into(), findings: vec![nothing], ..Report::default() };
            report.recording.settings = vec![("threads".into(), recorded.into())];
            let regex = reported.map(|text| Regex::new(text).expect("a regular expression"));
            let selection = Selection::new(&report, regex.as_ref());
            selection.limit(&mut report);
            (selection.sentence(), report.verdict, report.findings[0].text.clone())
        };
        let busy = "No bottleneck in locks or waits: threads execute code.";
        let (sentence, verdict, finding) = limited(busy, "", None);
        assert_eq!((sentence, verdict.as_str(), finding.as_str()), (None, busy, "No thread was blocked on a lock."));
        let (sentence, verdict, finding) = limited(busy, "http", None);
        assert_eq!(
            sentence.as_deref(),
            Some("Only threads whose names match `http` were recorded (record --threads).")
        );
        let not_recorded =
            "No bottleneck among the threads that match `http`. What blocked other threads was not recorded.";
        assert_eq!(verdict, not_recorded);
        let (_, verdict, _) = limited(busy, "", Some("http"));
        assert_eq!(
            verdict,
            "Among the threads that match `http`, no bottleneck in locks or waits: threads execute code."
        );
        assert_eq!(finding, "No thread that matches `http` was blocked on a lock.");
        let (sentence, verdict, _) = limited(NONE_ACTIVE, "", Some("zzz"));
        assert_eq!(sentence.as_deref(), Some("Only threads whose names match `zzz` are counted (--threads)."));
        assert_eq!(verdict, "No thread that matches `zzz` was active.");
        let (_, verdict, _) = limited("Threads spent 31 % blocked.", "a", Some("b"));
        assert_eq!(verdict, "Threads spent 31 % blocked.");
    }
}
