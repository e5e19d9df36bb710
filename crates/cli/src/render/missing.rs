//! What a recording does not have, in sentences: what the user switched off is said once, and is no warning.

use headway_model::event::SWITCHED_OFF;

/// A mechanism, and what is missing without it and why.
pub type Degraded<'a> = (&'a str, &'a str);

/// A sentence for all that was switched off, then one for each other reason.
pub fn sentences<'a>(degraded: impl Iterator<Item = Degraded<'a>>) -> Vec<String> {
    let (mut off, mut others): (Vec<(&str, Vec<&str>)>, Vec<String>) = (Vec::new(), Vec::new());
    for (mechanism, reason) in degraded {
        match reason.strip_suffix(SWITCHED_OFF).and_then(|what| what.strip_suffix(": ")) {
            None => others.push(format!("{mechanism}: {reason}")),
            Some(what) => match off.iter_mut().find(|(known, _)| *known == what) {
                Some((_, mechanisms)) => mechanisms.push(mechanism),
                None => off.push((what, vec![mechanism])),
            },
        }
    }
    let what = |(what, mechanisms): &(&str, Vec<&str>)| format!("{what} ({})", mechanisms.join(", "));
    let what: Vec<String> = off.iter().map(what).collect();
    let because = (!what.is_empty()).then(|| format!("Because of --safe or --disable: {}.", what.join("; ")));
    because.into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_switched_off_is_one_sentence() {
        let off = |what: &str| format!("{what}: {SWITCHED_OFF}");
        let (no_owner, no_wait) = (off("owners are not known"), off("waits are not recorded"));
        let degraded =
            [("exit", &*no_owner), ("cpu", "no samples: denied"), ("reenter", &no_wait), ("notify", &no_wait)];
        let said = sentences(degraded.into_iter());
        let because =
            "Because of --safe or --disable: owners are not known (exit); waits are not recorded (reenter, notify).";
        assert_eq!(said, [because, "cpu: no samples: denied"]);
        assert!(sentences(std::iter::empty()).is_empty());
    }
}
