//! Says that a phase began or ended: a line on stderr, or a command.
//!
//! The command is run by `/bin/sh -c` as the JVM's user, from the draining
//! thread. Its orders are in environment variables: no name of a lock
//! or method ever becomes part of the shell's text. It inherits no files but
//! standard input (`/dev/null`), output and error, and no blocked signals. One
//! runs at a time; while it does, other phases are not announced but counted.

use crate::options::Announce;
use headway_analysis::pressure::live;
use headway_analysis::pressure::phases::Phase;
use headway_model::{Dictionary, DurationNs};
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::ptr;

/// Announces phases.
pub struct Announcer {
    how: Option<Announce>,
    running: Option<libc::pid_t>,
    skipped: u64,
}

impl Announcer {
    pub fn new(how: Option<Announce>) -> Announcer {
        Announcer { how, running: None, skipped: 0 }
    }

    /// A phase began.
    pub fn begins(&mut self, phase: &Phase, dictionary: &Dictionary) {
        self.tell("begin", phase, dictionary);
    }

    /// A phase is over.
    pub fn ended(&mut self, phase: &Phase, dictionary: &Dictionary) {
        self.tell("end", phase, dictionary);
    }

    fn tell(&mut self, what: &str, phase: &Phase, dictionary: &Dictionary) {
        let Some(how) = self.how.clone() else { return };
        let facts = facts(what, phase, dictionary);
        match how {
            Announce::Log => log(what, &facts),
            Announce::Command(command) => self.run(&command, &facts),
        }
    }

    fn run(&mut self, command: &str, facts: &Facts) {
        self.reap();
        if self.running.is_some() {
            self.skipped += 1;
            return;
        }
        match spawn(command, &facts.environment(self.skipped)) {
            Ok(pid) => {
                self.running = Some(pid);
                self.skipped = 0;
            }
            Err(error) => eprintln!("headway: the command for phases could not be run: {error}"),
        }
    }

    /// Takes note of a command that ended.
    pub fn reap(&mut self) {
        let Some(pid) = self.running else { return };
        // SAFETY: waits, without blocking, for a child that `spawn` made and
        // that nobody else waits for.
        let done = unsafe { libc::waitpid(pid, ptr::null_mut(), libc::WNOHANG) };
        if done != 0 {
            self.running = None;
        }
    }
}

/// What is known of a phase, in words.
struct Facts {
    what: String,
    lock: String,
    class: String,
    csp_percent: String,
    duration: DurationNs,
    contender: String,
    owner: String,
}

fn facts(what: &str, phase: &Phase, dictionary: &Dictionary) -> Facts {
    let (lock, class) = live::lock_names(phase.lock, dictionary);
    let (contender, _) = live::chain(phase.acquiring_chain(), 0, dictionary);
    let (owner, _) = live::chain(phase.owner_chain().0, phase.owner_chain().1, dictionary);
    Facts {
        what: what.to_owned(),
        lock,
        class,
        csp_percent: format!("{:.1}", phase.mean() * 100.0),
        duration: phase.end.since(phase.start),
        contender,
        owner,
    }
}

impl Facts {
    fn environment(&self, skipped: u64) -> [(&'static str, String); 8] {
        [
            ("HEADWAY_PHASE", self.what.clone()),
            ("HEADWAY_LOCK", self.lock.clone()),
            ("HEADWAY_LOCK_CLASS", self.class.clone()),
            ("HEADWAY_PRESSURE_PERCENT", self.csp_percent.clone()),
            ("HEADWAY_DURATION_MS", (self.duration.0 / 1_000_000).to_string()),
            ("HEADWAY_CONTENDER", self.contender.clone()),
            ("HEADWAY_OWNER", self.owner.clone()),
            ("HEADWAY_SKIPPED", skipped.to_string()),
        ]
    }
}

fn log(what: &str, facts: &Facts) {
    let verb = if what == "begin" { "took" } else { "has taken" };
    let mut line = format!(
        "headway: phase {what}: acquiring {} {verb} {} % of all threads' time for {}",
        facts.lock, facts.csp_percent, facts.duration
    );
    if !facts.owner.is_empty() {
        line.push_str(&format!(", owned by {}", facts.owner));
    }
    eprintln!("{line}");
}

/// Runs a command without waiting for it.
fn spawn(command: &str, facts: &[(&str, String)]) -> io::Result<libc::pid_t> {
    let text = |text: &str| CString::new(text.replace('\0', " ")).map_err(io::Error::other);
    let arguments = [text("sh")?, text("-c")?, text(command)?];
    let own = facts.iter().map(|(name, value)| text(&format!("{name}={value}")));
    let inherited = std::env::vars_os()
        .filter(|(name, _)| !name.as_bytes().starts_with(b"HEADWAY_"))
        .filter_map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).ok());
    let environment: Vec<CString> = inherited.map(Ok).chain(own).collect::<io::Result<_>>()?;
    let pointers = |list: &[CString]| -> Vec<*mut libc::c_char> {
        list.iter().map(|text| text.as_ptr().cast_mut()).chain([ptr::null_mut()]).collect()
    };
    let (argv, envp) = (pointers(&arguments), pointers(&environment));
    let settings = Settings::new()?;
    let mut pid = 0;
    // SAFETY: all pointers are to zero-terminated strings and arrays that live
    // until the call returns; the settings were initialised by `Settings::new`.
    let failed = unsafe {
        libc::posix_spawn(
            &mut pid,
            c"/bin/sh".as_ptr(),
            &settings.actions,
            &settings.attributes,
            argv.as_ptr(),
            envp.as_ptr(),
        )
    };
    match failed {
        0 => Ok(pid),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// How a command starts: without our files, with no signal blocked, in a
/// process group of its own.
struct Settings {
    actions: libc::posix_spawn_file_actions_t,
    attributes: libc::posix_spawnattr_t,
}

impl Settings {
    fn new() -> io::Result<Settings> {
        // SAFETY: both are plain data that the init functions fill in; the
        // other calls only write to what was initialised.
        unsafe {
            let mut settings: Settings = std::mem::zeroed();
            let actions = &mut settings.actions;
            let attributes = &mut settings.attributes;
            check(libc::posix_spawn_file_actions_init(actions))?;
            check(libc::posix_spawnattr_init(attributes))?;
            check(libc::posix_spawn_file_actions_addopen(actions, 0, c"/dev/null".as_ptr(), libc::O_RDONLY, 0))?;
            for file in open_files()?.into_iter().filter(|file| *file > 2) {
                check(libc::posix_spawn_file_actions_addclose(actions, file))?;
            }
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            check(libc::posix_spawnattr_setsigmask(attributes, &none))?;
            check(libc::posix_spawnattr_setpgroup(attributes, 0))?;
            let flags = libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETPGROUP;
            check(libc::posix_spawnattr_setflags(attributes, flags as libc::c_short))?;
            Ok(settings)
        }
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        // SAFETY: both were initialised, or are zeroed, which these accept.
        unsafe {
            libc::posix_spawn_file_actions_destroy(&mut self.actions);
            libc::posix_spawnattr_destroy(&mut self.attributes);
        }
    }
}

fn check(error: libc::c_int) -> io::Result<()> {
    match error {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// The JVM's open files: not all of them are marked to be closed.
fn open_files() -> io::Result<Vec<libc::c_int>> {
    let entries = std::fs::read_dir("/proc/self/fd")?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn wait(announcer: &mut Announcer) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while announcer.running.is_some() {
            assert!(Instant::now() < deadline, "the command does not end");
            std::thread::sleep(Duration::from_millis(5));
            announcer.reap();
        }
    }

    fn facts_of(lock: &str) -> Facts {
        Facts {
            what: "begin".into(),
            lock: lock.into(),
            class: "com.acme.Shop".into(),
            csp_percent: "48.0".into(),
            duration: DurationNs(3_000_000_000),
            contender: "Shop.sell".into(),
            owner: String::new(),
        }
    }

    #[test]
    fn names_reach_the_command_but_never_its_text() {
        let told = std::env::temp_dir().join(format!("headway-announce-{}", std::process::id()));
        let command = format!(
            "printf '%s|%s|%s' \"$HEADWAY_LOCK\" \"$HEADWAY_PRESSURE_PERCENT\" \"$HEADWAY_DURATION_MS\" > '{}'",
            told.display()
        );
        let mut announcer = Announcer::new(Some(Announce::Command(command.clone())));
        announcer.run(&command, &facts_of("$(touch /nowhere); `id` 'x' \"y\""));
        wait(&mut announcer);
        let text = std::fs::read_to_string(&told).unwrap();
        std::fs::remove_file(&told).unwrap();
        assert_eq!(text, "$(touch /nowhere); `id` 'x' \"y\"|48.0|3000");
    }

    #[test]
    fn commands_inherit_no_files_and_do_not_pile_up() {
        let told = std::env::temp_dir().join(format!("headway-announce-files-{}", std::process::id()));
        // Nothing but 0, 1, 2, the file written to and the directory read.
        let command = format!("ls /proc/self/fd | wc -l > '{}'", told.display());
        let _open = std::fs::File::open("/dev/null").unwrap();
        let mut announcer = Announcer::new(None);
        announcer.run(&command, &facts_of("L"));
        wait(&mut announcer);
        let count: u32 = std::fs::read_to_string(&told).unwrap().trim().parse().unwrap();
        std::fs::remove_file(&told).unwrap();
        assert!(count <= 5, "{count} files");

        announcer.run("sleep 60", &facts_of("L"));
        let pid = announcer.running.unwrap();
        announcer.run("sleep 60", &facts_of("L"));
        assert_eq!((announcer.running, announcer.skipped), (Some(pid), 1));
        // SAFETY: the child that was just made, not yet waited for.
        unsafe { libc::kill(pid, libc::SIGTERM) };
        wait(&mut announcer);
    }
}
