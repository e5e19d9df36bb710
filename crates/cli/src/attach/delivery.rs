//! How a recording gets from the target to where it was asked for: written
//! there by the target itself where it sees the same files and may write,
//! else through the private directory and copied by us.

use crate::attach::{identity, Session};
use crate::error::Failure;
use crate::recording::file_name::literal_for_agent;
use crate::recording::output;
use headway_jfr::IfTaken;
use std::path::{Path, PathBuf};

/// The way that a recording takes.
#[derive(Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The target writes the file itself.
    Direct(PathBuf),
    /// The target writes a file of this name into the private directory.
    Copied {
        /// Name there.
        name: String,
        /// Where it is copied to.
        destination: PathBuf,
        /// What becomes of a file that is there.
        if_taken: IfTaken,
    },
}

impl Delivery {
    /// Chooses the way to `destination`, which must be absolute and writable
    /// for ourselves.
    pub fn to(destination: &Path, if_taken: IfTaken, session: &Session) -> Delivery {
        let process = session.process();
        let direct = process.shares_our_files()
            && identity::acting_as(process, || output::check_new_recording(destination, if_taken)).is_ok();
        if direct {
            return Delivery::Direct(destination.to_owned());
        }
        // The extension picks the format there, too.
        let file_name = destination.file_name().and_then(|name| name.to_str()).unwrap_or("recording.jfr");
        let extension = file_name.find(".jfr").and_then(|at| file_name.get(at..)).unwrap_or(".jfr");
        Delivery::Copied { name: format!("recording{extension}"), destination: destination.to_owned(), if_taken }
    }

    /// The path that the agent is asked to write to.
    pub fn path_for_agent(&self, session: &Session) -> PathBuf {
        literal_for_agent(&match self {
            Delivery::Direct(path) => path.clone(),
            Delivery::Copied { name, .. } => session.place().path_of(name),
        })
    }

    /// Brings the finished file to its destination and says where it is. `recording`
    /// is where the agent says that it is.
    ///
    /// # Errors
    /// It is not there, or cannot be copied.
    pub fn collect(&self, session: &Session, recording: Option<&str>) -> Result<PathBuf, Failure> {
        match self {
            Delivery::Direct(path) => Ok(recording.map_or_else(|| path.clone(), PathBuf::from)),
            Delivery::Copied { name, destination, if_taken } => {
                let doing = format!("cannot fetch the recording from process {}", session.process().pid);
                let mut file = session.place().open(name).map_err(Failure::doing(doing))?;
                let place = output::copy_new(&mut file, destination, *if_taken)?;
                session.place().remove(name);
                Ok(place)
            }
        }
    }
}
