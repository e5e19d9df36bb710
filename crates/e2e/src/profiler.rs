//! The profilers whose accuracy is measured, and how each records from a JVM's start.

use crate::tools::Tools;
use crate::Problem;
use std::fs;
use std::path::{Path, PathBuf};

/// The lock events of JFR, every one of them; and what was dropped, which JFR only reports
/// when it is asked to.
const LOCK_SETTINGS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<configuration version="2.0" label="locks" description="locks" provider="Headway">
<event name="jdk.JavaMonitorEnter"><setting name="enabled">true</setting><setting name="stackTrace">true</setting><setting name="threshold">0 ns</setting></event>
<event name="jdk.JavaMonitorWait"><setting name="enabled">true</setting><setting name="stackTrace">true</setting><setting name="threshold">0 ns</setting></event>
<event name="jdk.ThreadPark"><setting name="enabled">true</setting><setting name="stackTrace">true</setting><setting name="threshold">0 ns</setting></event>
<event name="jdk.DataLoss"><setting name="enabled">true</setting></event>
</configuration>
"#;

/// How JFR samples running threads: by CPU time, where it can.
const SAMPLE_SETTINGS: [(u32, &str); 2] = [
    (25, r#"name="jdk.CPUTimeSample"><setting name="throttle">1ms"#),
    (0, r#"name="jdk.ExecutionSample"><setting name="period">10 ms"#),
];

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
            Profiler::Jfr => flight_recording(recording, &directory.join("locks.jfc"), LOCK_SETTINGS)?,
            Profiler::Async(library) => vec![agent(library, &format!("start,event=lock,lock=1,jfr,file={recording}"))?],
        })
    }

    /// JVM options with which running threads are sampled every millisecond of CPU time;
    /// with JFR before JDK 25 every 10 ms of real time, which is the best it has.
    /// Settings are put into `directory`.
    ///
    /// # Errors
    /// The library is missing, or the settings cannot be written.
    pub fn sample_options(
        &self,
        tools: &Tools,
        release: u32,
        recording: &str,
        directory: &Path,
    ) -> Result<Vec<String>, Problem> {
        Ok(match self {
            Profiler::Headway => vec![headway(tools, recording, "events=cpu,interval=1000000")],
            Profiler::Jfr => flight_recording(recording, &directory.join("samples.jfc"), &sample_settings(release))?,
            Profiler::Async(library) => {
                vec![agent(library, &format!("start,event=cpu,interval=1ms,jfr,file={recording}"))?]
            }
        })
    }
}

fn sample_settings(release: u32) -> String {
    let event = SAMPLE_SETTINGS.iter().find(|(since, _)| release >= *since).map_or("", |(_, event)| event);
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<configuration version="2.0" label="samples" description="samples" provider="Headway">
<event {event}</setting><setting name="enabled">true</setting><setting name="stackTrace">true</setting></event>
</configuration>
"#
    )
}

/// JVM options of a flight recording with these settings, which are put into a file.
fn flight_recording(recording: &str, file: &Path, settings: &str) -> Result<Vec<String>, Problem> {
    fs::write(file, settings)?;
    let start = format!("-XX:StartFlightRecording=filename={recording},settings={}", file.display());
    Ok(vec![start, "-Xlog:jfr*=off".into()])
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
    fn the_flight_recorder_samples_by_cpu_time_where_it_can() {
        let directory = TempDir::new().unwrap();
        for (release, event) in [(17, "ExecutionSample"), (21, "ExecutionSample"), (25, "CPUTimeSample")] {
            let options = Profiler::Jfr.sample_options(&tools(), release, "r.jfr", directory.path()).unwrap();
            assert!(options[0].ends_with("samples.jfc"), "{options:?}");
            let settings = fs::read_to_string(directory.path().join("samples.jfc")).unwrap();
            assert_eq!((settings.matches("<event").count(), settings.contains(event)), (1, true), "{settings}");
        }
    }

    #[test]
    fn a_missing_library_is_named() {
        let missing = Profiler::Async("missing/libasyncProfiler.so".into());
        let problem = missing.sample_options(&tools(), 25, "r.jfr", Path::new("")).unwrap_err();
        assert_eq!(problem.to_string(), "there is no library missing/libasyncProfiler.so");
    }
}
