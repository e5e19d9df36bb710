//! Sampled stacks as the JDK's `jfr print` shows them, of any profiler's recording.

use crate::jdk::Jdk;
use crate::tools;
use crate::Problem;

/// A sampled stack, leaf first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The thread's name.
    pub thread: String,
    /// `pkg.Class.method`.
    pub frames: Vec<String>,
}

impl Sample {
    /// The method's name where the frame is one of the shapes of the `samples` program.
    pub fn shape(frame: &str) -> Option<&str> {
        let method = frame.strip_prefix("io.headway.workloads.samples.Shapes")?;
        method.rsplit('.').next()
    }

    /// True if the stack reaches down to where its thread began.
    pub fn is_complete(&self) -> bool {
        self.frames.last().is_some_and(|root| root == "java.lang.Thread.run")
    }

    /// How many of the frames are a shape's method of this name.
    pub fn count(&self, method: &str) -> usize {
        self.frames.iter().filter(|frame| Sample::shape(frame) == Some(method)).count()
    }
}

/// The samples of running threads in a recording.
///
/// # Errors
/// The JDK's tool cannot read it.
pub fn read(jdk: &Jdk, recording: &str) -> Result<Vec<Sample>, Problem> {
    let events = "jdk.ExecutionSample,jdk.NativeMethodSample,jdk.CPUTimeSample";
    let output = tools::run(&jdk.tool("jfr"), ["print", "--stack-depth", "2048", "--events", events, recording])?;
    Ok(parse(&String::from_utf8_lossy(&output.stdout)))
}

/// Takes the text of `jfr print` apart.
pub fn parse(text: &str) -> Vec<Sample> {
    let mut samples: Vec<Sample> = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("jdk.") && line.ends_with('{') {
            samples.push(Sample { thread: String::new(), frames: Vec::new() });
        } else if let (Some(thread), Some(sample)) = (thread(line), samples.last_mut()) {
            sample.thread = thread.to_owned();
        } else if let (Some((method, _)), Some(sample)) = (line.split_once('('), samples.last_mut()) {
            if line.contains(" line: ") || line.ends_with("line:") {
                sample.frames.push(method.to_owned());
            }
        }
    }
    samples
}

/// The name of the sampled thread, which is the event's own where JFR samples by CPU time.
fn thread(line: &str) -> Option<&str> {
    let (field, name) = line.split_once(" = \"")?;
    matches!(field, "sampledThread" | "eventThread").then(|| name.split('"').next().unwrap_or_default())
}
