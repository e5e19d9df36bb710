//! What the page asks of a recording, and the answers.
//!
//! [`Recording::read`] reads a file once into columns. The same columns are
//! asked by [`Recording::answer`] for a served page, and written into a page
//! that is complete in one file by [`html::in_one_file`], where the page asks
//! them itself. [`contract`] is what both have in common. Totals by aspects are made in `group.rs`
//! for the one and in `web/src/data/group.ts` for the other: a change belongs into both.
//!
//! * [`contract`]: queries and answers, the source of the page's types.
//! * [`table`]: slices, waits, samples and lives as rows.
//! * [`projection`]: what is too much is added up.
//! * [`names`]: what ids of the table stand for.
//! * [`gather`]: from events to a table.
//! * `beginning`: first results, while a large recording is read.
//! * [`embed`]: a recording as text in a page.
//! * [`html`]: the page.
//! * [`sources`]: source lines behind frames.

pub mod contract;
pub mod embed;
pub mod gather;
pub mod html;
pub mod names;
pub mod projection;
pub mod sources;
pub mod table;

mod beginning;
mod estimates;
mod facts;
mod group;
mod held_off;
mod idle;
mod keys;
mod lanes;
mod links;
mod measured;
mod recording;
mod scope;
mod whole;

#[cfg(test)]
mod contract_tests;

pub use beginning::First;
pub use recording::Recording;
