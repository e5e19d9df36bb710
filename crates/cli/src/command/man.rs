//! `headway man`: the manual page, made from what `--help` says.

use crate::args::Arguments;
use crate::error::{Failure, DONE};
use crate::terminal;
use clap::{Args, CommandFactory};
use clap_mangen::Man as Page;
use std::io;

const EXAMPLES: &str = "\
Examples:
  headway man | man -l -
  headway man > /usr/local/share/man/man1/headway.1";

/// Options of `man`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Man {}

impl Man {
    /// Carries out the command.
    ///
    /// # Errors
    /// Output that cannot be written.
    pub fn execute(self) -> Result<u8, Failure> {
        let page = page().map_err(Failure::doing("cannot make the manual page"))?;
        terminal::print(&page).map_err(Failure::doing("cannot write to standard output"))?;
        Ok(DONE)
    }
}

/// One page for everything: the command, then each subcommand's options.
fn page() -> io::Result<String> {
    let mut command = Arguments::command();
    command.build();
    let mut text = Vec::new();
    let top = Page::new(command.clone());
    top.render_title(&mut text)?;
    top.render_name_section(&mut text)?;
    top.render_synopsis_section(&mut text)?;
    top.render_description_section(&mut text)?;
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
        subcommand_section(subcommand, &mut text)?;
    }
    let mut extra = Vec::new();
    top.render_extra_section(&mut extra)?;
    text.extend(as_typed(&String::from_utf8_lossy(&extra), "SH").into_bytes());
    top.render_version_section(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn subcommand_section(subcommand: &clap::Command, text: &mut Vec<u8>) -> io::Result<()> {
    use std::io::Write;
    writeln!(text, ".SH \"HEADWAY {}\"", subcommand.get_name().to_uppercase())?;
    let page = Page::new(subcommand.clone());
    // Their own headings become headings of the second order.
    let mut body = Vec::new();
    page.render_description_section(&mut body)?;
    page.render_synopsis_section(&mut body)?;
    page.render_options_section(&mut body)?;
    let mut extra = Vec::new();
    page.render_extra_section(&mut extra)?;
    for line in String::from_utf8_lossy(&body).lines() {
        match line.strip_prefix(".SH ") {
            Some("DESCRIPTION") => {}
            Some(heading) => writeln!(text, ".SS {heading}")?,
            None => writeln!(text, "{line}")?,
        }
    }
    text.extend(as_typed(&String::from_utf8_lossy(&extra), "SS").into_bytes());
    Ok(())
}

/// The examples, under a heading of this order, with their lines kept: they
/// are for copying.
fn as_typed(section: &str, order: &str) -> String {
    match section.split_once(".SH EXTRA\n") {
        Some((_, examples)) => format!(".{order} EXAMPLES\n.nf\n{}\n.fi\n", examples.trim_end()),
        None => section.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_tells_of_every_command() {
        let page = page().expect("a page");
        for command in Arguments::command().get_subcommands() {
            let heading = format!(".SH \"HEADWAY {}\"", command.get_name().to_uppercase());
            assert!(page.contains(&heading), "{heading} is missing");
        }
        assert!(page.contains("min\\-duration"));
        assert!(!page.contains("EXTRA"), "examples have a heading of their own");
        assert_eq!(page.matches("\n.nf\n").count(), page.matches("\n.fi\n").count());
    }
}
