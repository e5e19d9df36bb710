//! The formats, by the names of files.

use crate::{collapsed, firefox, flame, perfetto, pprof, speedscope};
use headway_analysis::method::{Profile, Unit};
use std::io::{self, Write};

/// A format that a profile can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// One line per calling context.
    Collapsed,
    /// Gzipped protocol buffers.
    Pprof,
    /// The Firefox Profiler's processed format.
    Firefox,
    /// speedscope's format.
    Speedscope,
    /// A flame graph.
    Flame,
    /// A trace for Perfetto.
    Perfetto,
}

/// How a profile is written, whatever the format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// What it is called; most formats show it.
    pub title: String,
    /// True to weigh by the number of samples even where their time is known.
    pub count_samples: bool,
}

impl Style {
    /// The unit in which a profile's weights are written.
    pub fn unit(&self, profile: &Profile) -> Unit {
        match self.count_samples {
            true => Unit::Samples,
            false => profile.tree.unit(),
        }
    }
}

impl Format {
    /// Every format, in the order in which help texts list them.
    pub const ALL: [Format; 6] =
        [Format::Collapsed, Format::Pprof, Format::Firefox, Format::Speedscope, Format::Flame, Format::Perfetto];

    /// How the names of such files end; the first is the usual one.
    pub const fn extensions(self) -> &'static [&'static str] {
        match self {
            Format::Collapsed => &[".collapsed", ".folded"],
            Format::Pprof => &[".pb.gz", ".pprof"],
            Format::Firefox => &[".json", ".json.gz"],
            Format::Speedscope => &[".speedscope.json", ".speedscope"],
            Format::Flame => &[".html", ".htm"],
            Format::Perfetto => &[".perfetto-trace", ".pftrace"],
        }
    }

    /// The format that a file's name asks for.
    pub fn of_name(name: &str) -> Option<Format> {
        let name = name.to_ascii_lowercase();
        let candidates =
            Format::ALL.iter().flat_map(|format| format.extensions().iter().map(move |end| (*format, *end)));
        // `.speedscope.json` ends in `.json`, too.
        candidates.filter(|(_, end)| name.ends_with(end)).max_by_key(|(_, end)| end.len()).map(|(format, _)| format)
    }

    /// True if the format shows what happened when, so that a profile needs its
    /// moments.
    pub const fn needs_moments(self) -> bool {
        matches!(self, Format::Firefox | Format::Speedscope | Format::Perfetto)
    }

    /// Writes a profile.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(self, profile: &Profile, style: &Style, name: &str, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Format::Collapsed => collapsed::write(profile, style, out),
            Format::Pprof => pprof::write(profile, style, out),
            Format::Firefox if name.to_ascii_lowercase().ends_with(".gz") => {
                let mut packed = flate2::write::GzEncoder::new(out, flate2::Compression::default());
                firefox::write(profile, style, &mut packed)?;
                packed.finish().map(drop)
            }
            Format::Firefox => firefox::write(profile, style, out),
            Format::Speedscope => speedscope::write(profile, style, out),
            Format::Flame => flame::write(profile, style, out),
            Format::Perfetto => perfetto::write(profile, style, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_ask_for_formats() {
        let named = |name| Format::of_name(name);
        assert_eq!(named("a.collapsed"), Some(Format::Collapsed));
        assert_eq!(named("a.b.pb.gz"), Some(Format::Pprof));
        assert_eq!(named("a.json"), Some(Format::Firefox));
        assert_eq!(named("A.SPEEDSCOPE.JSON"), Some(Format::Speedscope));
        assert_eq!(named("a.html"), Some(Format::Flame));
        assert_eq!(named("a.jfr"), None);
        assert_eq!(named("json"), None);
    }
}
