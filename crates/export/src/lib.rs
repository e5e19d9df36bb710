//! Profiles in the formats of other tools.
//!
//! Each format is a file of its own and a function from a
//! [`Profile`](headway_analysis::method::Profile) to bytes:
//!
//! * [`collapsed`]: one line per calling context, for flame graph tools; of two
//!   profiles, too.
//! * [`pprof`]: gzipped protocol buffers, for `pprof` and what understands it.
//! * [`firefox`]: the Firefox Profiler's processed format, moment by moment.
//! * [`speedscope`]: speedscope's own format, moment by moment.
//! * [`perfetto`]: a trace for ui.perfetto.dev, moment by moment.
//! * [`flame`]: a flame graph as one HTML file that needs nothing else.
//!
//! [`Format::of_name`] picks one by a file's name.

pub mod collapsed;
pub mod firefox;
pub mod flame;
pub mod perfetto;
pub mod pprof;
pub mod speedscope;

mod format;

pub use format::{Format, Style};
