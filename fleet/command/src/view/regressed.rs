//! Regressions for the page: what `headway fleet regressions` finds.

use super::contract::{Changed, Compared, Regressions};
use crate::arguments::{Arguments, Command, Fleet, Task};
use crate::failure::Failure;
use crate::regressions::{self, text, Lock, Regressed, Service, Step};
use clap::Parser;
use datafusion::prelude::SessionContext;
use headway_regress::Change;

/// Searches as the command does, with its defaults.
///
/// # Errors
/// The store fails, or has no such service.
pub async fn find(
    session: &SessionContext,
    place: &str,
    service: Option<&str>,
    at: &(dyn Fn(Step<'_>) + Sync),
) -> Result<Regressions, Failure> {
    let mut words = vec![format!("--store={place}")];
    words.extend(service.map(|service| format!("--service={service}")));
    let start = ["headway-fleet", "fleet", "regressions"].map(str::to_owned);
    let parsed = Arguments::try_parse_from(start.into_iter().chain(words.clone()));
    let Ok(Arguments { command: Command::Fleet(Fleet { task: Task::Regressions(asked) }) }) = parsed else {
        return Err(Failure::Usage("this is no service".into()));
    };
    let found = regressions::find(session, &asked.search, at).await?;
    let words = words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
    Ok(of(found, format!("headway fleet regressions {words}")))
}

/// A word as a shell takes it.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@%+".contains(c);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

fn of(found: Regressed, command: String) -> Regressions {
    Regressions {
        command,
        verdict: text::verdict(&found),
        services: found.services.into_iter().map(service).collect(),
        single_version: found.single_version,
    }
}

fn service(service: Service) -> Compared {
    let sentences = text::sentences(&service);
    let Service { service, old_version, new_version, locks, .. } = service;
    let (worse, better) = locks
        .into_iter()
        .filter(|lock| lock.tested.verdict != Change::None)
        .partition(|lock: &Lock| lock.tested.is_regression());
    let both: [Vec<Lock>; 2] = [worse, better];
    Compared {
        service,
        old_version,
        new_version,
        sentences,
        changed: both.into_iter().flatten().map(changed).collect(),
    }
}

fn changed(lock: Lock) -> Changed {
    let Lock { lock, kind, tested, waiter_stack, owner_stack, .. } = lock;
    Changed {
        lock,
        kind,
        worse: tested.is_regression(),
        change: tested.change,
        interval: tested.change_ci95,
        q: tested.q,
        old_share: tested.old_share,
        new_share: tested.new_share,
        waiter_stack,
        owner_stack,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        assert_eq!(shell_word("--store=s3://acme/locks"), "--store=s3://acme/locks");
        assert_eq!(shell_word("--service=it's $HOME"), "'--service=it'\\''s $HOME'");
    }
}
