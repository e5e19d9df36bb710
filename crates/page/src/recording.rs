//! A recording that answers queries.

use crate::beginning::{Beginning, First};
use crate::contract::{Answer, Aspect, Facts, Query, Scope, Whole};
use crate::gather::Gather;
use crate::names::Names;
use crate::scope::Selection;
use crate::table::{Row, Table};
use crate::{group, lanes, whole};
use headway_jfr::{Problem, Reader};
use headway_model::TimeNs;
use std::path::Path;
use std::thread::Builder;

/// A recording, read once, that answers queries.
#[derive(Debug)]
pub struct Recording {
    facts: Facts,
    /// From which all times count.
    start: TimeNs,
    names: Names,
    table: Table,
    /// Text of the method that each chain is about.
    acting: Vec<u32>,
    whole: Whole,
}

impl Recording {
    /// Reads a file, and keeps about so many rows of it.
    ///
    /// # Errors
    /// The file cannot be opened, or is no recording. Damage further on is in
    /// [`Facts::problems`].
    pub fn read(path: &Path, rows: usize) -> Result<Recording, Problem> {
        let file = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Recording::read_as(file, path, rows)
    }

    /// [`Recording::read`] for a file that is shown under another name.
    ///
    /// # Errors
    /// As [`Recording::read`].
    pub fn read_as(file: String, path: &Path, rows: usize) -> Result<Recording, Problem> {
        Ok(Recording::gather(Gather::new(rows), file, Reader::open(path)?, None))
    }

    /// [`Recording::read_as`] for a file that was opened already; hands out what its beginning says,
    /// while it reads on, if there is a `first`.
    pub fn read_opened(file: String, reader: Reader, rows: usize, first: Option<First>) -> Recording {
        Recording::gather(Gather::new(rows), file, reader, first)
    }

    /// Reads the file again, which has grown meanwhile. What has an id keeps it, so that answers of
    /// this reading and of the next can be shown side by side.
    ///
    /// The file must have the same beginning: ids of the recording must stand for the same.
    ///
    /// # Errors
    /// As [`Recording::read`].
    pub fn read_again(&self, path: &Path, rows: usize) -> Result<Recording, Problem> {
        let gather = Gather::with_names(rows, self.names.clone());
        Ok(Recording::gather(gather, self.facts.file.clone(), Reader::open(path)?, None))
    }

    fn gather(mut gather: Gather, file: String, reader: Reader, first: Option<First>) -> Recording {
        let mut problems = Vec::new();
        std::thread::scope(|scope| {
            let mut beginning = first.map(Beginning::new);
            reader.read_ahead(|item| match item {
                Ok(event) => {
                    gather.feed(event);
                    let is_complete = beginning.as_mut().is_some_and(|beginning| beginning.feed(event));
                    if let Some(complete) = beginning.take_if(|_| is_complete) {
                        let facts = Facts { file: file.clone(), problems: problems.clone(), ..Facts::default() };
                        // Where there can be no other thread, the whole recording is all there is.
                        let name = "headway first results".to_owned();
                        let _ = Builder::new().name(name).spawn_scoped(scope, || complete.hand_out(facts));
                    }
                }
                Err(problem) if problems.len() < 100 => problems.push(problem.to_string()),
                Err(_) => {}
            });
        });
        gather.finish(Facts { file, problems, ..Facts::default() })
    }

    pub(crate) fn new(facts: Facts, start: TimeNs, names: Names, table: Table, whole: Whole) -> Recording {
        let acting = names.acting_methods();
        Recording { facts, start, names, table, acting, whole }
    }

    /// The moment from which times in questions and answers count, on the clock of the recording.
    pub fn start(&self) -> TimeNs {
        self.start
    }

    /// What is known before anything is asked.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What the analyses of the whole recording say.
    pub fn whole(&self) -> &Whole {
        &self.whole
    }

    /// What ids stand for.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Lets `source` find the text of source lines, by method, file and line.
    pub fn add_sources(&mut self, source: impl FnMut(&str, &str, u32) -> Option<String>) {
        self.names.add_sources(source);
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// Text of the method that each chain is about, by chain.
    pub(crate) fn acting(&self) -> &[u32] {
        &self.acting
    }

    pub(crate) fn thread_kind(&self, thread: u32) -> u8 {
        self.names.threads().get(thread as usize).map_or(0, |thread| thread.kind)
    }

    /// The value of a aspect (but time) in a row.
    #[inline]
    pub(crate) fn value(&self, by: Aspect, row: &Row) -> u32 {
        let group = |thread: u32| self.names.threads().get(thread as usize).map_or(0, |thread| thread.group);
        let acting = |chain: u32| self.acting.get(chain as usize).copied().unwrap_or(0);
        match by {
            Aspect::Kind => u32::from(row.kind),
            Aspect::LockClass => self.names.locks().get(row.lock as usize).map_or(0, |lock| lock.class),
            Aspect::LockName => self.names.locks().get(row.lock as usize).map_or(0, |lock| lock.title),
            Aspect::Lock => row.lock,
            Aspect::ContenderThread => row.thread,
            Aspect::ContenderGroup => group(row.thread),
            Aspect::ContenderMethod => acting(row.chain),
            Aspect::ContenderChain => row.chain,
            Aspect::OwnerThread => row.owner,
            Aspect::OwnerGroup => group(row.owner),
            Aspect::OwnerMethod => acting(row.owner_chain),
            Aspect::OwnerChain => row.owner_chain,
            Aspect::Inside => row.inside,
            Aspect::How => u32::from(row.how),
            Aspect::ThreadKind => u32::from(self.thread_kind(row.thread)),
            Aspect::Time => 0,
        }
    }

    /// All values of a aspect in any row are below this.
    pub(crate) fn values_of(&self, by: Aspect) -> usize {
        match by {
            Aspect::Kind | Aspect::How | Aspect::ThreadKind => 16,
            Aspect::Lock => self.names.locks().len(),
            Aspect::ContenderThread | Aspect::OwnerThread => self.names.threads().len(),
            Aspect::ContenderChain | Aspect::OwnerChain | Aspect::Inside => self.names.chains().len(),
            Aspect::Time => MOST_INTERVALS as usize,
            Aspect::LockClass
            | Aspect::LockName
            | Aspect::ContenderGroup
            | Aspect::ContenderMethod
            | Aspect::OwnerGroup
            | Aspect::OwnerMethod => self.names.texts().len(),
        }
    }

    /// Answers a query about this recording.
    pub fn answer(&self, query: &Query) -> Answer {
        let selection = |scope: &Scope| Selection::of(self, scope);
        match query {
            Query::Group { scope, by, intervals, limit } => {
                Answer::Group(group::group(self, &selection(scope), by, (*intervals).min(MOST_INTERVALS), *limit))
            }
            Query::Lanes { scope, first, count, pixels } => {
                Answer::Lanes(lanes::lanes(self, &selection(scope), *first, (*count).min(MOST_LANES), *pixels))
            }
            Query::Longest { scope, limit } => {
                let (entries, names) = lanes::longest(self, &selection(scope), (*limit).min(MOST_LANES));
                Answer::Longest { entries, names }
            }
            Query::Whole { .. } => {
                let whole = self.whole.clone();
                let names = whole::mentioned(&whole, &self.names);
                Answer::Whole { whole, names }
            }
            Query::Entry { kind, start, thread, .. } => {
                let (entry, names) = lanes::entry(self, *kind, *start, thread);
                Answer::Entry { entry, names }
            }
        }
    }

    /// The recording that a query is about.
    pub fn asked(query: &Query) -> usize {
        match query {
            Query::Group { scope, .. } | Query::Lanes { scope, .. } | Query::Longest { scope, .. } => scope.recording,
            Query::Entry { recording, .. } | Query::Whole { recording } => *recording,
        }
    }
}

/// Intervals beyond which a picture has no pixels left.
const MOST_INTERVALS: u32 = 4000;
/// Lanes and entries that one answer has at most.
const MOST_LANES: usize = 2000;
