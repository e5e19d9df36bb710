//! The profilers whose accuracy is measured, and how each records from a JVM's start.

use crate::tools::Tools;
use crate::Problem;
use std::fs;
use std::path::{Path, PathBuf};

/// The lock events of JFR, every one of them; and what was lost, which JFR only tells
/// when it is asked to.
const LOCK_SETTINGS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<configuration version="2.0" label="locks" description="locks" provider="Headway">
<event name="jdk.JavaMonitorEnter"><setting name="enabled">true</setting><setting name="stackTrace">true</setting><setting name="threshold">0 ns</setting></event>
<event name="jdk.JavaMonitorWait"><setting name="enabled">true</setting><setting name="stackTrace">true</setting><setting name="threshold">0 ns</setting></event>
<event name="jdk.ThreadPark"><setting name="enabled">true</setting><setting name="stackTrace">true</setting><setting name="threshold">0 ns</setting></event>
<event name="jdk.DataLoss"><setting name="enabled">true</setting></event>
</configuration>
"#;

/// A profiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Profiler {
    /// Headway's agent; a mechanism that is missing is a failure.
    Headway,
    /// The JDK's flight recorder.
    Jfr,
    /// async-profiler, by its library.
    Async(PathBuf),
}

impl Profiler {
    /// JVM options with which all lock events are written to `recording`, without a
    /// threshold, from the JVM's start. Settings are put into `directory`.
    ///
    /// # Errors
    /// The library is missing, or the settings cannot be written.
    pub fn lock_options(&self, tools: &Tools, recording: &str, directory: &Path) -> Result<Vec<String>, Problem> {
        Ok(match self {
            Profiler::Headway => vec![headway(tools, recording, "events=monitor+park")],
            Profiler::Jfr => {
                let settings = directory.join("locks.jfc");
                fs::write(&settings, LOCK_SETTINGS)?;
                let start = format!("-XX:StartFlightRecording=filename={recording},settings={}", settings.display());
                vec![start, "-Xlog:jfr*=off".into()]
            }
            Profiler::Async(library) => vec![agent(library, &format!("start,event=lock,lock=1,jfr,file={recording}"))?],
        })
    }

    /// JVM options with which running threads are sampled every millisecond.
    ///
    /// # Errors
    /// The profiler has no such samples, or its library is missing.
    pub fn sample_options(&self, tools: &Tools, recording: &str) -> Result<Vec<String>, Problem> {
        Ok(match self {
            Profiler::Headway => vec![headway(tools, recording, "events=cpu,interval=1000000")],
            Profiler::Jfr => return Err("JFR does not sample every millisecond".into()),
            Profiler::Async(library) => {
                vec![agent(library, &format!("start,event=cpu,interval=1ms,jfr,file={recording}"))?]
            }
        })
    }
}

fn headway(tools: &Tools, recording: &str, options: &str) -> String {
    format!("-agentpath:{}=start,strict,file={recording},{options}", tools.agent.display())
}

fn agent(library: &Path, options: &str) -> Result<String, Problem> {
    match library.is_file() {
        true => Ok(format!("-agentpath:{}={options}", library.display())),
        false => Err(format!("there is no library {}", library.display()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn tools() -> Tools {
        Tools { headway: "headway".into(), agent: "libheadway.so".into(), workloads: "workloads.jar".into() }
    }

    #[test]
    fn all_record_locks_without_a_threshold_from_the_start() {
        let directory = TempDir::new().unwrap();
        let library = directory.path().join("libasyncProfiler.so");
        fs::write(&library, "").unwrap();
        let options =
            |profiler: Profiler| profiler.lock_options(&tools(), "r.jfr", directory.path()).unwrap().join(" ");
        assert_eq!(options(Profiler::Headway), "-agentpath:libheadway.so=start,strict,file=r.jfr,events=monitor+park");
        assert!(options(Profiler::Async(library)).ends_with("=start,event=lock,lock=1,jfr,file=r.jfr"));
        assert!(options(Profiler::Jfr).starts_with("-XX:StartFlightRecording=filename=r.jfr,settings="));
        let settings = fs::read_to_string(directory.path().join("locks.jfc")).unwrap();
        assert_eq!(settings.matches("threshold").count(), settings.matches(">0 ns<").count());
    }

    #[test]
    fn a_missing_library_is_named() {
        let missing = Profiler::Async("missing/libasyncProfiler.so".into());
        let problem = missing.sample_options(&tools(), "r.jfr").unwrap_err();
        assert_eq!(problem.to_string(), "there is no library missing/libasyncProfiler.so");
    }
}
