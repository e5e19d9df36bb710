//! `ship`: JVMs of this machine into a store.

use crate::arguments::Ship;
use crate::failure::Failure;
use crate::ingest::this_machine;
use headway_ship::{Given, Headway, Options, Plan, Policy, Settings};
use std::env;
use std::path::{Path, PathBuf};
use tokio::runtime::Handle;

/// The program that records.
const PROGRAM: &str = "headway";

/// See the module's description; ends at a signal.
///
/// # Errors
/// An option makes no sense; the queue or the address is taken.
pub fn ship(asked: Ship, runtime: &Handle) -> Result<(), Failure> {
    for (option, value) in [("--service", &asked.service), ("--host", &asked.host)] {
        if value.as_ref().is_some_and(String::is_empty) {
            return Err(Failure::Usage(format!("{option} is empty; leave it out for its default")));
        }
    }
    let program = match asked.headway {
        Some(program) => program,
        None => find().ok_or_else(|| {
            Failure::Failed(
                "the command headway is neither beside headway-fleet nor on the PATH; name it with --headway".into(),
            )
        })?,
    };
    if !program.is_file() {
        return Err(Failure::Failed(format!("there is no command {}", program.display())));
    }
    // A name alone would be looked for on the PATH.
    let program = std::path::absolute(&program).unwrap_or(program);
    let options = Options {
        events: asked.events,
        max_size: asked.max_size,
        budget: asked.budget,
        exact: asked.exact,
        redact: asked.redact,
    };
    let given = Given {
        host: asked.host.unwrap_or_else(this_machine),
        service: asked.service,
        version: asked.version,
        environment: asked.environment,
        labels: asked.labels,
        cpus: asked.cpus,
    };
    let most = usize::try_from(asked.most).unwrap_or(usize::MAX);
    let policy = Policy { users: asked.users, names: asked.names, attributes: asked.attributes, most };
    let settings = Settings {
        store: from_the_root(asked.store),
        queue: asked.queue,
        queue_bytes: asked.queue_size,
        listen: asked.listen,
        headway: Headway { program, options },
        plan: Plan { policy, given, segment: asked.segment },
        look: asked.look,
    };
    Ok(headway_ship::ship(settings, runtime)?)
}

/// The queue remembers the store's name, and the next process may begin in another directory.
fn from_the_root(store: String) -> String {
    match store.contains("://") {
        true => store,
        false => std::path::absolute(&store).ok().and_then(|path| path.to_str().map(str::to_owned)).unwrap_or(store),
    }
}

/// Beside this program first: both of one installation fit each other.
fn find() -> Option<PathBuf> {
    let beside = env::current_exe().ok().and_then(|own| own.parent().map(Path::to_owned));
    let path = env::var_os("PATH").unwrap_or_default();
    // An empty entry means the working directory, from which nothing is executed by chance.
    let on_path = env::split_paths(&path).filter(|folder| folder.is_absolute());
    beside.into_iter().chain(on_path).map(|folder| folder.join(PROGRAM)).find(|program| program.is_file())
}
