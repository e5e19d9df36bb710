//! Names from outside, made fit for a line of text.
//!
//! Names of threads, classes, files and locks are chosen by programs that we
//! look at. On a terminal an escape sequence in one could do anything, a line
//! feed could forge a row, and a bidirectional control could reorder what stands
//! beside it. This is the one place that says which characters are let through.
//! Formats that can carry every character (JSON) keep names as they are.

use crate::event::{Event, RecordingInfo};
use crate::stack::Method;
use std::borrow::Cow;
use std::sync::Arc;

/// Stands for a character that is not shown.
const REPLACEMENT: char = '\u{fffd}';

/// True for characters that stand for themselves: no controls, no line or
/// paragraph separators, nothing that changes the direction of text or is there
/// without being seen.
pub fn is_printable(character: char) -> bool {
    !character.is_control()
        && !matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The text with every character that is not printable replaced by one that
/// shows that something was there.
pub fn printable(text: &str) -> Cow<'_, str> {
    match is_plain(text) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(text.chars().map(|c| if is_printable(c) { c } else { REPLACEMENT }).collect()),
    }
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) || text.chars().all(is_printable)
}

/// The event with printable names; `None` if they all are.
pub fn printable_event(event: &Event) -> Option<Event> {
    match event {
        Event::Recording(info) => printable_recording(info),
        Event::Method(id, method) => printable_method(method).map(|method| Event::Method(*id, method)),
        _ if event.texts_are(is_plain) => None,
        _ => {
            let mut shown = event.clone();
            shown.change_texts(show);
            Some(shown)
        }
    }
}

fn show(text: &mut Arc<str>) {
    if !is_plain(text) {
        *text = Arc::from(&*printable(text));
    }
}

fn printable_method(method: &Method) -> Option<Arc<Method>> {
    let Method { class, name, descriptor, source_file, .. } = method;
    if [class, name, descriptor, source_file].into_iter().all(|text| is_plain(text)) {
        return None;
    }
    let mut method = method.clone();
    let Method { class, name, descriptor, source_file, .. } = &mut method;
    [class, name, descriptor, source_file].into_iter().for_each(show);
    Some(Arc::new(method))
}

fn printable_recording(info: &RecordingInfo) -> Option<Event> {
    let RecordingInfo { producer, jvm_name, jvm_version, java_arguments, jvm_arguments, settings, .. } = info;
    let texts = [producer, jvm_name, jvm_version, java_arguments, jvm_arguments];
    let plain = |text: &String| is_plain(text);
    if texts.into_iter().all(plain) && settings.iter().all(|(name, value)| plain(name) && plain(value)) {
        return None;
    }
    let shown = |text: &String| printable(text).into_owned();
    Some(Event::Recording(Arc::new(RecordingInfo {
        producer: shown(producer),
        jvm_name: shown(jvm_name),
        jvm_version: shown(jvm_version),
        java_arguments: shown(java_arguments),
        jvm_arguments: shown(jvm_arguments),
        settings: settings.iter().map(|(name, value)| (shown(name), shown(value))).collect(),
        ..info.clone()
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Experiment, ThreadDef};
    use crate::id::{MethodId, ThreadId};

    #[test]
    fn what_a_terminal_would_obey_is_replaced() {
        assert_eq!(printable("\u{1b}[2Jgone\r\n1 root"), "\u{fffd}[2Jgone\u{fffd}\u{fffd}1 root");
        assert_eq!(printable("\u{9b}2J\u{7f}"), "\u{fffd}2J\u{fffd}");
        assert_eq!(printable("a\u{202e}b\u{2066}c\u{200f}d\u{2028}e"), "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}e");
    }

    #[test]
    fn letters_of_every_script_stay() {
        for text in ["com.acme.Main", "Größe", "日本語", "עברית", "🙂"] {
            assert!(matches!(printable(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn events_change_only_where_they_must() {
        let thread =
            |name: &str| Event::Thread(ThreadDef { id: ThreadId(7), name: name.into(), ..ThreadDef::default() });
        assert_eq!(printable_event(&thread("main")), None);
        assert_eq!(printable_event(&thread("ma\nin")), Some(thread("ma\u{fffd}in")));
        let method = |source: &str| {
            let method = Method { name: "run".into(), source_file: source.into(), ..Method::default() };
            Event::Method(MethodId(3), Arc::new(method))
        };
        assert_eq!(printable_event(&method("A.java")), None);
        assert_eq!(printable_event(&method("A\u{1b}.java")), Some(method("A\u{fffd}.java")));
        let experiment =
            |target: &str| Event::Experiment(Experiment { visits: 9, target: target.into(), ..Experiment::default() });
        assert_eq!(printable_event(&experiment("A.run")), None);
        assert_eq!(printable_event(&experiment("A\n.run")), Some(experiment("A\u{fffd}.run")));
        let settings = |value: &str| {
            let settings = vec![("events".to_owned(), value.to_owned())];
            Event::Recording(Arc::new(RecordingInfo { pid: 7, settings, ..RecordingInfo::default() }))
        };
        assert_eq!(printable_event(&settings("lock")), None);
        assert_eq!(printable_event(&settings("\u{1b}c")), Some(settings("\u{fffd}c")));
    }
}
