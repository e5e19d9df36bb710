//! Numbers and lists as a sentence wants them.

pub(super) use headway_model::quantity::{grouped, percent};

/// `1 thread`, `12 threads`.
pub(super) fn count(n: u64, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(n))
}

/// A method in backticks, beside a lock whose name stands in the same sentence: where both have one
/// name, what is meant is said.
pub(super) fn method_beside(method: &str, lock: &str) -> String {
    if method == lock {
        format!("the method `{method}()`")
    } else {
        code(method)
    }
}

/// The same at the beginning of a sentence.
pub(super) fn begun(text: &str) -> String {
    let beginnings = [("the ", "The "), ("from ", "From "), ("in ", "In "), ("> ", "More than "), ("< ", "Less than ")];
    let begun =
        beginnings.iter().find_map(|(within, first)| text.strip_prefix(within).map(|rest| format!("{first}{rest}")));
    begun.unwrap_or_else(|| text.to_owned())
}

/// True for a group of threads in backticks: `` `worker-*` ``.
pub(super) fn is_group(who: &str) -> bool {
    who.contains('*')
}

/// `` `worker-1` was ``, `` threads `worker-*` were ``.
pub(super) fn was(who: &str) -> String {
    if is_group(who) {
        format!("threads {who} were")
    } else {
        format!("{who} was")
    }
}

/// A name of code in backticks.
pub(super) fn code(name: &str) -> String {
    format!("`{name}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_several_threads() {
        assert_eq!([was("`exec-*`"), was("`exec-7`")], ["threads `exec-*` were", "`exec-7` was"]);
    }

    #[test]
    fn a_sentence_begins_with_a_word_or_a_number() {
        let begun: Vec<String> = ["the lock `a`", "> 99 %", "< 0.1 %", "62 %"].into_iter().map(begun).collect();
        assert_eq!(begun, ["The lock `a`", "More than 99 %", "Less than 0.1 %", "62 %"]);
    }
}
