//! Where the pictures come from: a file that the agent rewrites interval after
//! interval, in our private directory, as long as we touch another beside it.

use crate::agent::options::AgentOptions;
use crate::attach::Session;
use crate::error::Failure;
use crate::jvm::Jvm;
use crate::quantity::Span;
use headway_analysis::pressure::live::Picture;
use std::time::{Duration, Instant};

const PICTURE: &str = "live.json";
const WATCH: &str = "live.watch";
const RECORDING: &str = "top.jfr";
/// The recording of our own is not for keeping.
const RECORDING_BYTES: u64 = 1 << 20;
/// How often the agent learns that we watch.
const TOUCH_EVERY: Duration = Duration::from_secs(2);

/// See the module.
pub struct Source {
    session: Session,
    pid: u32,
    /// True if the recording is ours, to be ended by us.
    own_recording: bool,
    /// True if the agent was not there before.
    own_agent: bool,
    touched: Option<Instant>,
    latest: Option<u64>,
}

impl Source {
    /// Attaches, and begins a recording if none is under way.
    ///
    /// # Errors
    /// Those of attaching and starting.
    pub fn open(jvm: &Jvm, interval: Span) -> Result<Source, Failure> {
        let session = Session::open(jvm)?;
        let mut source = Source {
            session,
            pid: jvm.process.pid,
            own_recording: false,
            own_agent: jvm.agent_path.is_none(),
            touched: None,
            latest: None,
        };
        source.touch()?;
        let status = source.session.command(AgentOptions::new("status"))?;
        if status.recording.is_none() {
            let file = source.session.place().path_of(RECORDING);
            let start = source.session.start_ephemeral(&file)?.with("events", "pressure");
            let start = start
                .with("pressure_interval", &interval.ns.to_string())
                .with("max_size", &RECORDING_BYTES.to_string());
            if let Err(failure) = source.session.command(start) {
                if source.own_agent {
                    // Why it was refused says more than how this fails.
                    let _ = source.session.detach_unused();
                }
                return Err(failure);
            }
            source.own_recording = true;
        }
        let live = AgentOptions::new("live").with_path("file", &source.session.place().path_of(PICTURE))?;
        if let Err(failure) = source.session.command(live) {
            source.close()?;
            return Err(failure);
        }
        Ok(source)
    }

    /// The picture, if there is a new one.
    ///
    /// # Errors
    /// The target ended, or its recording did.
    pub fn next(&mut self) -> Result<Option<Picture>, Failure> {
        self.touch()?;
        let text = match self.session.place().read(PICTURE) {
            Ok(text) => text,
            Err(_) if !self.session.target_lives() => return Err(self.ended()),
            // A VM that ends finishes its recordings first.
            Err(_) if self.latest.is_some() && self.session.target_ends_soon() => return Err(self.ended()),
            Err(_) if self.latest.is_some() => {
                return Err(Failure::WatchedRecordingEnded { pid: self.pid });
            }
            Err(_) => return Ok(None),
        };
        if !self.session.target_lives() {
            return Err(self.ended());
        }
        // A rename makes it whole; what cannot be read is of another version.
        let picture: Picture = serde_json::from_str(&text).map_err(|error| Failure::NoReply {
            pid: self.pid,
            problem: format!("its picture of now is odd ({error})"),
        })?;
        let is_new = picture.intervals > 0 && self.latest != Some(picture.intervals);
        self.latest = Some(picture.intervals);
        Ok(is_new.then_some(picture))
    }

    /// Leaves the target as it was.
    ///
    /// # Errors
    /// The target does not answer.
    pub fn close(&mut self) -> Result<(), Failure> {
        self.session.place().remove(WATCH);
        self.session.place().remove(PICTURE);
        if !self.session.target_lives() {
            return Ok(());
        }
        if std::mem::take(&mut self.own_recording) {
            let ours = self.session.place().path_of(RECORDING);
            let left = self.session.leave(&ours, self.own_agent);
            if left.is_err() && self.session.target_ends_soon() {
                return Ok(());
            }
            return left;
        }
        Ok(())
    }

    fn ended(&self) -> Failure {
        Failure::TargetEnded { pid: self.pid, when: "while Headway watched it", kept: String::new() }
    }

    fn touch(&mut self) -> Result<(), Failure> {
        if self.touched.is_none_or(|touched| touched.elapsed() >= TOUCH_EVERY) {
            let touched = self.session.place().touch(WATCH);
            touched.map_err(Failure::doing("cannot write into the private directory"))?;
            self.touched = Some(Instant::now());
        }
        Ok(())
    }
}
