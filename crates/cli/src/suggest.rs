//! "Did you mean ...": the known word nearest to a mistyped one.

/// The candidate nearest to `typed`, if one is near enough to be what was
/// meant.
pub fn nearest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (closeness(&typed, &candidate.to_lowercase()), candidate))
        .filter(|(closeness, _)| *closeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// `; did you mean "x"?`, or nothing when no candidate is near.
pub fn did_you_mean<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(typed, candidates).map_or_else(String::new, |word| format!("; did you mean \"{word}\"?"))
}

/// 1 for the same word; a transposed or missing letter stays near 1.
fn closeness(typed: &str, candidate: &str) -> f64 {
    if typed.len() >= 3 && candidate.starts_with(typed) {
        return 0.99;
    }
    strsim::jaro_winkler(typed, candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASPECTS: [&str; 4] = ["lock", "lock-class", "owner-method", "contender-method"];

    #[test]
    fn a_slip_of_the_finger_finds_the_word() {
        assert_eq!(nearest("owner-metod", ASPECTS), Some("owner-method"));
        assert_eq!(nearest("Lock_class", ASPECTS), Some("lock-class"));
        assert_eq!(nearest("locks", ASPECTS), Some("lock"));
    }

    #[test]
    fn an_unrelated_word_finds_nothing() {
        assert_eq!(nearest("zebra", ASPECTS), None);
        assert_eq!(did_you_mean("zebra", ASPECTS), "");
    }
}
