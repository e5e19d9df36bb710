//! Talking to the agent in a running JVM: the dynamic attach protocol,
//! spoken by ourselves, so that no JDK is needed beside the target.
//!
//! * [`delivery`]: how a recording gets from there to here.
//! * [`identity`]: acting as the target's user.
//! * [`view`]: the target's view of the file system.
//! * [`private_directory`]: there, for the library and its replies.
//! * [`trigger`]: making the JVM open its attach socket, harmlessly.
//! * [`protocol`]: requests and answers on that socket.
//! * [`turn`]: command lines that attach to one JVM wait for each other.

pub mod delivery;
pub mod identity;
pub mod private_directory;
pub mod protocol;
pub mod trigger;
pub mod turn;
pub mod view;

use crate::agent::library;
use crate::agent::options::AgentOptions;
use crate::agent::reply::{self, Reply};
use crate::agent::written;
use crate::error::Failure;
use crate::interrupt;
use crate::jvm::process::Process;
use crate::jvm::{self, memory_room, Jvm};
use crate::recording::file_name::literal_for_agent;
use private_directory::PrivateDirectory;
use protocol::{Answer, Version};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trigger::Socket;
use turn::Turn;
use view::View;

/// Name of reply files in the private directory.
const REPLY_FILE: &str = "reply.json";
/// A JVM that ends finishes its recordings first; so much later it is gone.
const ENDS_WITHIN: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A JVM that we can send commands to.
#[derive(Debug)]
pub struct Session {
    process: Process,
    socket: Socket,
    version: Version,
    place: PrivateDirectory,
    /// Where the JVM loads the agent from; the same path every time, so that
    /// the dynamic linker finds it loaded.
    library: PathBuf,
    /// True if this session loads the agent: whether there is room for it was checked before.
    has_loaded: bool,
    /// Held until the agent has been loaded.
    turn: Option<Turn>,
}

impl Session {
    /// Attaches to a JVM, making sure first that this cannot harm it.
    ///
    /// # Errors
    /// Every reason why that does not work; the target is then unharmed.
    pub fn open(jvm: &Jvm) -> Result<Session, Failure> {
        interrupt::watch();
        jvm.check_attachable()?;
        let process = jvm.process.clone();
        let turn = Turn::wait(&process);
        // Another command line may have loaded it meanwhile.
        let loaded_from = jvm.agent_path.clone().or_else(|| jvm::agent_path(process.pid));
        // Before anything is touched: without a library it would have no effect.
        let library = loaded_from.is_none().then(library::find).transpose()?;
        if library.is_some() {
            memory_room::check(&process)?;
        }
        let view = View::of(&process)?;
        trigger::remove_strangers_socket(&process, &view);
        let (socket, version, place) = identity::acting_as(&process, || {
            let socket = trigger::open_socket(&process, &view)?;
            let version = protocol::version(&socket)?;
            let place = PrivateDirectory::create(&process, &view)?;
            Ok::<_, Failure>((socket, version, place))
        })?;
        let has_loaded = library.is_some();
        let library_path = loaded_from.unwrap_or_default();
        let mut session =
            Session { process, socket, version, place, library: library_path, has_loaded, turn: Some(turn) };
        if let Some(source) = library {
            session.bring_library(&source, &view)?;
        }
        Ok(session)
    }

    /// Sends the agent a command and waits for its reply.
    ///
    /// # Errors
    /// The JVM's refusal, the agent's own failure, or no answer at all.
    pub fn command(&mut self, options: AgentOptions) -> Result<Reply, Failure> {
        let begins = matches!(options.command(), "start" | "parks");
        if options.command() == "start" && !self.has_loaded {
            memory_room::check(&self.process)?;
        }
        let reply = self.send(options);
        if begins && reply.is_ok() {
            interrupt::finish();
        }
        self.turn = None;
        reply
    }

    fn send(&mut self, options: AgentOptions) -> Result<Reply, Failure> {
        let pid = self.process.pid;
        let options = options.with_path("reply", &self.place.path_of(REPLY_FILE))?;
        let arguments = [&self.library.to_string_lossy(), "true", options.as_str()];
        let answer = identity::acting_as(&self.process, || {
            protocol::request(&self.socket, self.version, "load", &arguments, protocol::LOAD_TIMEOUT)
        });
        let reply = self.place.take(REPLY_FILE);
        let loaded = answer.and_then(|answer| check_loaded(pid, &answer));
        match (reply, loaded) {
            // What the agent itself says is more to the point.
            (Some(text), _) => {
                self.place.remove(library::FILE_NAME);
                reply::parse(pid, &text)
            }
            // A JVM that dies closes the socket a moment before it is gone.
            (None, Err(Failure::AttachSocket { .. })) if self.target_ends_soon() => {
                Err(Failure::TargetEnded { pid, when: "while Headway talked to it", kept: String::new() })
            }
            (None, Err(_)) if !self.target_lives() => {
                Err(Failure::TargetEnded { pid, when: "while Headway talked to it", kept: String::new() })
            }
            (None, Err(failure)) => Err(failure),
            (None, Ok(())) => Err(Failure::NoReply { pid, problem: "it wrote no reply".into() }),
        }
    }

    /// A file that we keep locked as long as we live. A recording with it as its lease
    /// ends when we do, however that comes about.
    ///
    /// # Errors
    /// It cannot be made or locked.
    pub fn hold_lease(&mut self) -> Result<PathBuf, Failure> {
        let Session { process, place, .. } = self;
        identity::acting_as(process, || {
            place.hold_lease().map_err(Failure::doing("cannot lock a file in the private directory"))
        })
    }

    /// Begins the options of a recording that is not for keeping: it ends when we do, however
    /// that comes about.
    ///
    /// # Errors
    /// As for [`Self::hold_lease`]; or the file's name cannot be an option.
    pub fn start_ephemeral(&mut self, file: &Path) -> Result<AgentOptions, Failure> {
        let lease = self.hold_lease()?;
        let options = AgentOptions::new("start").with_path("file", &literal_for_agent(file))?;
        Ok(options.with_path("lease", &lease)?.with_flag("ephemeral", true))
    }

    /// Takes out the agent, unless it records: somebody else may have begun a recording meanwhile.
    ///
    /// # Errors
    /// The target does not answer.
    pub fn detach_unused(&mut self) -> Result<Reply, Failure> {
        match self.command(AgentOptions::new("detach").with_flag("last", true)) {
            Err(refused) if written::is_unknown_option(&refused) => {
                let status = self.command(AgentOptions::new("status"))?;
                match status.recording {
                    Some(_) => Ok(status),
                    None => self.command(AgentOptions::new("detach")),
                }
            }
            answered => answered,
        }
    }

    /// True if what is recorded now goes elsewhere than `ours`: somebody ended that recording and began another, which
    /// is not for us to end.
    ///
    /// # Errors
    /// The target does not answer.
    pub fn records_other(&mut self, ours: &Path) -> Result<bool, Failure> {
        let status = self.command(AgentOptions::new("status"))?;
        Ok(status.recording.is_some_and(|path| Path::new(&path) != ours))
    }

    /// Ends the recording into `ours`, if it goes on, and takes the agent out if it `came_with_us`.
    ///
    /// # Errors
    /// The target does not answer.
    pub fn leave(&mut self, ours: &Path, came_with_us: bool) -> Result<(), Failure> {
        let status = self.command(AgentOptions::new("status"))?;
        match status.recording {
            Some(path) if Path::new(&path) != ours => return Ok(()),
            Some(_) => drop(self.command(AgentOptions::new("stop"))?),
            None => {}
        }
        if came_with_us {
            self.command(AgentOptions::new("detach"))?;
        }
        Ok(())
    }

    /// True if the target is gone, or goes within a moment: it finishes its recordings first.
    pub fn target_ends_soon(&self) -> bool {
        let began = Instant::now();
        while self.target_lives() {
            if began.elapsed() >= ENDS_WITHIN {
                return false;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        true
    }

    /// The private directory, for files that the agent shall write for us.
    pub fn place(&self) -> &PrivateDirectory {
        &self.place
    }

    /// The process attached to.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// True while the process lives.
    pub fn target_lives(&self) -> bool {
        self.socket.process_lives()
    }

    fn bring_library(&mut self, source: &Path, view: &View) -> Result<(), Failure> {
        let process = &self.process;
        if process.shares_our_files() && identity::acting_as(process, || Ok(private_directory::can_be_shared(source)))?
        {
            self.library = source.to_owned();
            return Ok(());
        }
        // What is copied is what was checked, whatever became of the file meanwhile.
        let content = library::read(source)?;
        self.library = identity::acting_as(&self.process, || self.place.bring_library(&self.process, view, &content))?;
        Ok(())
    }
}

/// Turns the JVM's answer to `load` into its meaning. HotSpot writes either
/// `return code: N`, N being what the agent's entry point returned, or a text
/// that says why it did not get so far.
fn check_loaded(pid: u32, answer: &Answer) -> Result<(), Failure> {
    let text = answer.text.trim();
    let code = text.strip_prefix("return code:").map(str::trim);
    match code {
        Some("0") if answer.code == 0 => Ok(()),
        // What could not be read has no reply, which would name the agent's version.
        Some("2") => Err(Failure::LoadRefused {
            pid,
            problem: format!(
                "it does not know an option that headway {} gives it, so it is of another version; the process's standard error names the option",
                env!("CARGO_PKG_VERSION")
            ),
        }),
        Some(code) => Err(Failure::LoadRefused { pid, problem: format!("its entry point returned {code}") }),
        None if text.contains("Dynamic agent loading is not enabled") => Err(Failure::DynamicLoadingDisabled { pid }),
        None if text.is_empty() && answer.code == 0 => Ok(()),
        None if text.is_empty() => Err(Failure::LoadRefused { pid, problem: format!("error {}", answer.code) }),
        None => Err(Failure::LoadRefused { pid, problem: one_line(text) }),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(code: i32, text: &str) -> String {
        let answer = Answer { code, text: text.to_owned() };
        check_loaded(7, &answer).map_or_else(|failure| failure.to_string(), |()| "loaded".into())
    }

    #[test]
    fn the_answers_of_all_versions_are_understood() {
        assert_eq!(outcome(0, "return code: 0\n"), "loaded");
        assert_eq!(outcome(0, ""), "loaded");
        assert!(outcome(0, "return code: -1\n").ends_with("its entry point returned -1"));
        assert!(outcome(0, "return code: 2\n").contains("so it is of another version"));
        assert!(outcome(0, "x.so: cannot\n open").ends_with("refused to load the agent: x.so: cannot open"));
        assert!(outcome(-1, "Dynamic agent loading is not enabled. Use").contains("-XX:-EnableDynamicAgentLoading"));
    }
}
