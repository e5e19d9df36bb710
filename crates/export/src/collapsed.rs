//! Collapsed stacks: one line per calling context, the frames from the root to
//! the leaf with `;` between them, a blank, and the weight. What Brendan
//! Gregg's flame graph scripts, inferno and many viewers take in.

use crate::Style;
use headway_analysis::method::{CallTree, Comparison, Profile, Weight};
use headway_model::printable::is_printable;
use std::io::{self, Write};

/// Writes a profile. Weights are nanoseconds, or numbers of samples.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let tree = &profile.tree;
    let unit = style.unit(profile);
    for (index, context) in tree.contexts() {
        let own = context.own.in_unit(unit);
        if own > 0 {
            writeln!(out, "{} {own}", line(&texts(tree, index)))?;
        }
    }
    Ok(())
}

/// Writes the contexts of two profiles with both weights, for differential
/// flame graphs: first the one before, then the one after.
///
/// # Errors
/// Those of `out`.
pub fn write_difference(comparison: &Comparison<'_>, out: &mut dyn Write) -> io::Result<()> {
    let of = |weight: Weight| weight.in_unit(comparison.unit());
    for (path, before, after) in comparison.contexts() {
        writeln!(out, "{} {} {}", line(&path), of(before), of(after))?;
    }
    Ok(())
}

fn texts(tree: &CallTree, context: u32) -> Vec<String> {
    tree.path(context).into_iter().map(|at| tree.text(at)).collect()
}

fn line(path: &[String]) -> String {
    path.iter().map(|frame| plain(frame)).collect::<Vec<_>>().join(";")
}

/// A frame without what means something in this format.
fn plain(frame: &str) -> String {
    frame
        .chars()
        .map(|c| {
            if c == ';' {
                ','
            } else if !is_printable(c) {
                ' '
            } else {
                c
            }
        })
        .collect()
}
