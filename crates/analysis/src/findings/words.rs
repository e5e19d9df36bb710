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
    let beginnings = [
        ("the ", "The "),
        ("thread ", "Thread "),
        ("from ", "From "),
        ("in ", "In "),
        ("> ", "More than "),
        ("< ", "Less than "),
    ];
    let begun =
        beginnings.iter().find_map(|(within, first)| text.strip_prefix(within).map(|rest| format!("{first}{rest}")));
    begun.unwrap_or_else(|| text.to_owned())
}

/// Who did something: one thread or method, or several threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Who {
    /// In backticks.
    pub name: String,
    are_several: bool,
    is_method: bool,
}

impl Who {
    /// A method, which is in backticks already.
    pub fn method(name: &str) -> Who {
        Who { name: name.to_owned(), are_several: false, is_method: true }
    }

    /// A group of threads: several, or the only one of this name.
    pub fn group(name: &str, are_several: bool) -> Who {
        // The group of a name with numbers is known by it even if only one of its threads is.
        Who { name: code(name), are_several: are_several || name.contains('*'), is_method: false }
    }

    /// True for several threads; they may all have one name.
    pub fn are_several(&self) -> bool {
        self.are_several
    }

    /// `` thread `worker-1` was ``, `` threads `worker-*` were ``, `` `Job.finish` was `` of a method.
    pub fn was(&self) -> String {
        match (self.are_several, self.is_method) {
            (true, _) => format!("threads {} were", self.name),
            (false, true) => format!("{} was", self.name),
            (false, false) => format!("thread {} was", self.name),
        }
    }

    /// Threads, where a sentence begins: ``Threads `exec-*` ``, ``Thread `exec-7` ``.
    pub fn begun(&self) -> String {
        match self.are_several {
            true => format!("Threads {}", self.name),
            false => format!("Thread {}", self.name),
        }
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
        let was = |name, are_several| Who::group(name, are_several).was();
        assert_eq!([was("exec-*", true), was("exec-7", false)], ["threads `exec-*` were", "thread `exec-7` was"]);
        // All of them may have one name.
        assert_eq!(was("worker", true), "threads `worker` were");
        assert_eq!(Who::group("worker", true).begun(), "Threads `worker`");
        assert_eq!(Who::group("exec-7", false).begun(), "Thread `exec-7`");
        assert_eq!(Who::method("`Job.finish`").was(), "`Job.finish` was");
    }

    #[test]
    fn a_sentence_begins_with_a_word_or_a_number() {
        let begun: Vec<String> = ["the lock `a`", "> 99 %", "< 0.1 %", "62 %"].into_iter().map(begun).collect();
        assert_eq!(begun, ["The lock `a`", "More than 99 %", "Less than 0.1 %", "62 %"]);
    }
}
