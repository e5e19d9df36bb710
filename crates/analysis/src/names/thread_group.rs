//! Folds the names of a pool's threads into one.

/// With what pools abbreviate themselves, their threads and workers: `-p2-t1`.
const POOLS: [&str; 3] = ["p", "t", "w"];

/// The group of threads to which a thread of this name belongs: its name with
/// the parts that count threads, ports or sessions replaced by `*`.
///
/// A part is folded if it is a number, a number at the end of a longer word
/// (`worker12`, but not `h2` or `log4j2`), such a number after `-p`, `-t` or `-w`
/// (pool, thread, worker), or at least eight hexadecimal digits, UUIDs included.
pub fn fold(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    let mut rest = name;
    while !rest.is_empty() {
        if let Some(after) = strip_uuid(rest) {
            folded.push('*');
            rest = after;
            continue;
        }
        let word = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        if word == 0 {
            let separator = rest.chars().next().map_or(1, char::len_utf8);
            folded.push_str(&rest[..separator]);
            rest = &rest[separator..];
        } else {
            fold_word(&rest[..word], &mut folded);
            rest = &rest[word..];
        }
    }
    folded
}

fn fold_word(word: &str, folded: &mut String) {
    let is_number = word.bytes().all(|b| b.is_ascii_digit());
    if is_number || is_hexadecimal_id(word) {
        folded.push('*');
        return;
    }
    let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
    // Shorter stems and ones with digits of their own are names: h2, log4j2.
    let is_word =
        stem.chars().count() >= 4 && stem.chars().all(char::is_alphabetic) && !stem.eq_ignore_ascii_case("http");
    let is_letter_of_pools = folded.ends_with('-') && POOLS.contains(&stem);
    if stem.len() < word.len() && (is_word || is_letter_of_pools) {
        folded.push_str(stem);
        folded.push('*');
    } else {
        folded.push_str(word);
    }
}

fn is_hexadecimal_id(word: &str) -> bool {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let long = digits.len() >= 8 || digits.len() < word.len();
    long && digits.bytes().all(|b| b.is_ascii_hexdigit()) && digits.bytes().any(|b| b.is_ascii_digit())
}

/// What follows if the text begins with `8-4-4-4-12` hexadecimal digits.
fn strip_uuid(text: &str) -> Option<&str> {
    let candidate = text.get(..36)?;
    let well_formed = candidate.bytes().enumerate().all(|(i, b)| match i {
        8 | 13 | 18 | 23 => b == b'-',
        _ => b.is_ascii_hexdigit(),
    });
    well_formed.then(|| &text[36..])
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn names() {
        for (name, group) in [
            ("main", "main"),
            ("http-nio-8080-exec-12", "http-nio-*-exec-*"),
            ("pool-3-thread-7", "pool-*-thread-*"),
            ("Thread-5", "Thread-*"),
            ("scheduler-1", "scheduler-*"),
            ("ForkJoinPool.commonPool-worker-3", "ForkJoinPool.commonPool-worker-*"),
            ("C2 CompilerThread0", "C2 CompilerThread*"),
            ("GC Thread#3", "GC Thread#*"),
            ("worker12", "worker*"),
            ("non-blocking-thread--p2-t1", "non-blocking-thread--p*-t*"),
            ("t1", "t1"),
            ("db-h2", "db-h2"),
            ("h2-console", "h2-console"),
            ("log4j2-TF-1-AsyncLogger", "log4j2-TF-*-AsyncLogger"),
            ("http2-client", "http2-client"),
            ("H2 MVStore background writer mem:1a2b3c4d5e", "H2 MVStore background writer mem:*"),
            ("session 3f2504e0-4f89-11d3-9a0c-0305e82c3301", "session *"),
            ("conn@0x7f3a", "conn@*"),
            ("conn-10.1.2.3:5432", "conn-*.*.*.*:*"),
            ("decade", "decade"),
            ("effaced", "effaced"),
            ("", ""),
            ("\u{e9}t\u{e9}-7", "\u{e9}t\u{e9}-*"),
        ] {
            assert_eq!(fold(name), group, "{name}");
        }
    }
}
