//! Call chains on a terminal: a synchronizer's own frames take one line.

use super::{numbers, prose};
use crate::terminal::Screen;
use headway_analysis::names;
use std::fmt::Write;

/// Fewest columns for a frame, even where that makes lines too long.
const LEAST_ROOM: usize = 20;
/// Frames that fold at least: a line for one frame would hide it for nothing.
const LEAST_FOLDED: usize = 2;

/// A line of a chain.
#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    Frame(&'a str),
    /// So many frames of synchronizers, one after the other.
    Folded(usize),
}

/// What is done with frames of synchronizers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// They take one line: what called them is of interest.
    Synchronizers,
    /// They stay: they may be what takes the time.
    Nothing,
}

/// The frames behind a chain's leaf, at most `most` lines, and how many frames
/// do not fit. All frames are in the JSON.
pub fn behind_leaf(chain: &[String], most: usize, column: usize, fold: Fold, screen: &Screen, out: &mut String) {
    let room = screen.width.saturating_sub(column + 2).max(LEAST_ROOM);
    let frames = chain.get(1..).unwrap_or_default();
    let lines = match fold {
        Fold::Synchronizers => folded(frames),
        Fold::Nothing => frames.iter().map(|frame| Line::Frame(frame)).collect(),
    };
    for line in lines.iter().take(most) {
        let text = match line {
            Line::Frame(frame) if is_in_words(frame) => prose::fitted(frame, room, screen),
            Line::Frame(frame) => format!("< {}", prose::fitted(frame, room, screen)),
            Line::Folded(frames) => {
                format!("< ({} of synchronizers)", numbers::counted(*frames as u64, "frame", "frames"))
            }
        };
        let _ = writeln!(out, "{}", screen.faint(&format!("{:column$}{text}", "")));
    }
    let rest: usize =
        lines.iter().skip(most).map(|line| if let Line::Folded(frames) = line { *frames } else { 1 }).sum();
    if rest > 0 {
        let line = format!("{:column$}< {}", "", numbers::counted(rest as u64, "more frame", "more frames"));
        let _ = writeln!(out, "{}", screen.faint(&line));
    }
}

/// True for what stands where a frame would and is none: `(hand-off, or owner not known)`.
fn is_in_words(frame: &str) -> bool {
    frame.starts_with('(') && frame.ends_with(')')
}

fn folded(frames: &[String]) -> Vec<Line<'_>> {
    // What has no class is native code.
    let is_machinery = |frame: &String| frame.contains('.') && names::is_machinery(frame);
    let mut lines = Vec::new();
    for run in frames.chunk_by(|a, b| is_machinery(a) && is_machinery(b)) {
        match run.first().is_some_and(is_machinery) && run.len() >= LEAST_FOLDED {
            true => lines.push(Line::Folded(run.len())),
            false => lines.extend(run.iter().map(|frame| Line::Frame(frame))),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(frames: &[&str]) -> Vec<String> {
        frames.iter().map(|frame| (*frame).to_owned()).collect()
    }

    #[test]
    fn what_lies_behind_a_synchronizer_is_seen_at_once() {
        let frames = chain(&[
            "java.util.concurrent.locks.LockSupport.park:221",
            "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire:754",
            "java.util.concurrent.locks.ReentrantLock.lock:322",
            "com.acme.Inventory.rebuildIndex:41",
            "java.util.concurrent.ConcurrentHashMap.compute:1916",
            "java.util.concurrent.FutureTask.run:317",
            "java.lang.Thread.run:1583",
        ]);
        let frame = |at: usize| Line::Frame(frames.get(at).map_or("", String::as_str));
        assert_eq!(folded(&frames), [Line::Folded(3), frame(3), frame(4), frame(5), frame(6)]);
    }

    #[test]
    fn what_is_said_in_place_of_a_frame_called_nothing() {
        let screen = Screen { width: 80, colour: false, cut: false };
        let mut out = String::new();
        let frames = chain(&["Shop.lock", "(hand-off, or owner not known)", "a.(lambda).run", "(lambda).run"]);
        behind_leaf(&frames, 9, 2, Fold::Nothing, &screen, &mut out);
        assert_eq!(out, "  (hand-off, or owner not known)\n  < a.(lambda).run\n  < (lambda).run\n");
    }

    #[test]
    fn frames_that_do_not_fit_are_counted_one_by_one() {
        let frames =
            chain(&["leaf", "a", "java.util.concurrent.Phaser.arrive", "java.util.concurrent.locks.A.a", "b", "c"]);
        let screen = Screen { width: 80, colour: false, cut: false };
        let mut out = String::new();
        behind_leaf(&frames, 1, 2, Fold::Synchronizers, &screen, &mut out);
        assert_eq!(out, "  < a\n  < 4 more frames\n");
        out.clear();
        behind_leaf(&frames, 3, 2, Fold::Synchronizers, &screen, &mut out);
        assert_eq!(out, "  < a\n  < (2 frames of synchronizers)\n  < b\n  < 1 more frame\n");
        out.clear();
        behind_leaf(&frames, 2, 2, Fold::Nothing, &screen, &mut out);
        assert_eq!(out, "  < a\n  < java.util.concurrent.Phaser.arrive\n  < 3 more frames\n");
    }
}
