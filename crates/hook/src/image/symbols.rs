//! Symbol tables, searched by linker's name or by demangled name.

use cpp_demangle::DemangleOptions;
use memchr::memmem;
use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a symbol stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum SymbolKind {
    Function,
    Variable,
}

/// A defined symbol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub(super) symbol: String,
    /// As in the file, without bias.
    pub(super) address: u64,
    pub(super) size: u64,
}

/// One entry: where its name starts in the table's names, and its meaning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) name: u32,
    pub(super) kind: SymbolKind,
    pub(super) address: u64,
    pub(super) size: u64,
}

/// What is asked of a table.
#[derive(PartialEq, Eq, Hash)]
enum Question {
    Exact(String, SymbolKind),
    Demangled(String),
}

/// Most answers that are remembered.
const MAX_ANSWERS: usize = 1_024;

/// Symbols of a file. What was asked for is remembered; the table takes several
/// megabytes, can be forgotten, and is read again when something else is asked.
#[derive(Default)]
pub(super) struct Symbols {
    table: Mutex<Option<Arc<Table>>>,
    answers: Mutex<HashMap<Question, Vec<Found>>>,
    source: Option<File>,
    full: bool,
}

/// A symbol table in our own memory: entries, and all names, NUL-terminated.
#[derive(Default)]
pub(super) struct Table {
    pub(super) entries: Vec<Entry>,
    pub(super) names: Vec<u8>,
    pub(super) full: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A look or a move leaves what is inside whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Symbols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} symbols", lock(&self.table).as_ref().map_or(0, |table| table.entries.len()))
    }
}

impl Symbols {
    /// The table of a file, which it can be read from again if there is one.
    pub(super) fn new(table: Table, source: Option<File>) -> Symbols {
        Symbols { full: table.full, table: Mutex::new(Some(Arc::new(table))), source, ..Symbols::default() }
    }

    /// Gives the table's memory back, where it can be had again.
    pub(super) fn forget_table(&self) {
        if self.source.is_some() {
            *lock(&self.table) = None;
        }
    }

    fn table(&self) -> Arc<Table> {
        let mut table = lock(&self.table);
        let read = || Arc::new(self.source.as_ref().and_then(super::elf::table).unwrap_or_default());
        table.get_or_insert_with(read).clone()
    }

    fn answer(&self, question: Question, find: impl FnOnce(&Table) -> Vec<Found>) -> Vec<Found> {
        if let Some(known) = lock(&self.answers).get(&question) {
            return known.clone();
        }
        let found = find(&self.table());
        let mut answers = lock(&self.answers);
        if answers.len() < MAX_ANSWERS {
            answers.insert(question, found.clone());
        }
        found
    }

    /// The symbol with exactly this name.
    pub(super) fn exact(&self, symbol: &str, kind: SymbolKind) -> Option<Found> {
        let question = Question::Exact(symbol.to_owned(), kind);
        self.answer(question, |table| table.exact(symbol, kind).into_iter().collect()).into_iter().next()
    }

    /// See [`Table::demangled`].
    pub(super) fn demangled(&self, name: &str) -> Vec<Found> {
        self.answer(Question::Demangled(name.to_owned()), |table| table.demangled(name))
    }

    /// True for `.symtab`, false for `.dynsym` alone.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }
}

impl Table {
    /// The name that starts at this place.
    fn name(&self, start: u32) -> &[u8] {
        let tail = self.names.get(start as usize..).unwrap_or(&[]);
        &tail[..memchr::memchr(0, tail).unwrap_or(tail.len())]
    }

    fn found(&self, entry: &Entry) -> Found {
        Found {
            symbol: String::from_utf8_lossy(self.name(entry.name)).into_owned(),
            address: entry.address,
            size: entry.size,
        }
    }

    /// The symbol with exactly this name.
    fn exact(&self, symbol: &str, kind: SymbolKind) -> Option<Found> {
        let terminated = [symbol.as_bytes(), &[0]].concat();
        let places: Vec<usize> = memmem::find_iter(&self.names, &terminated).collect();
        self.entries.iter().find(|e| e.kind == kind && places.contains(&(e.name as usize))).map(|e| self.found(e))
    }

    /// Functions whose demangled name is this one, each address once.
    /// Demangling a whole VM takes long, so only names that hold the mangled
    /// form of `Class::method` are demangled.
    fn demangled(&self, name: &str) -> Vec<Found> {
        let Some(needle) = mangled_path(name) else {
            return Vec::new();
        };
        let wanted = without_spaces(name);
        let candidates = self.names_with(needle.as_bytes());
        let mut found: Vec<Found> = self
            .entries
            .iter()
            .filter(|e| e.kind == SymbolKind::Function && within(&candidates, e.name as usize))
            .map(|e| self.found(e))
            .filter(|f| demangle(&f.symbol).is_some_and(|d| without_spaces(&d) == wanted))
            .collect();
        found.sort_by_key(|f| f.address);
        found.dedup_by_key(|f| f.address);
        found
    }

    /// Where names that hold this text lie. A linker lets a name that is the
    /// end of another begin inside of it, so these are ranges, not starts.
    fn names_with(&self, text: &[u8]) -> Vec<Range<usize>> {
        memmem::find_iter(&self.names, text)
            .map(|place| {
                let start = memchr::memrchr(0, &self.names[..place]).map_or(0, |nul| nul + 1);
                start..place + 1
            })
            .collect()
    }
}

fn within(ranges: &[Range<usize>], place: usize) -> bool {
    ranges.iter().any(|range| range.contains(&place))
}

/// The readable name of an Itanium-mangled symbol.
pub(super) fn demangle(symbol: &str) -> Option<String> {
    let parsed = cpp_demangle::Symbol::new(symbol).ok()?;
    parsed.demangle_with_options(&DemangleOptions::default()).ok()
}

/// `13ObjectMonitor7INotify` for `ObjectMonitor::INotify(JavaThread*)`.
fn mangled_path(name: &str) -> Option<String> {
    let path = name.split('(').next()?;
    let parts = path.split("::").map(|part| format!("{}{part}", part.len()));
    let mangled: String = parts.collect();
    (!path.is_empty()).then_some(mangled)
}

fn without_spaces(name: &str) -> String {
    name.chars().filter(|c| !c.is_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(symbols: &[(&str, u64)]) -> Symbols {
        let mut names = vec![0];
        let mut entries = Vec::new();
        for (symbol, address) in symbols {
            entries.push(Entry { name: names.len() as u32, kind: SymbolKind::Function, address: *address, size: 16 });
            names.extend(symbol.as_bytes());
            names.push(0);
        }
        Symbols::new(Table { entries, names, full: true }, None)
    }

    const REENTER: &str = "_ZN13ObjectMonitor8ReenterIEP10JavaThreadP12ObjectWaiter";

    #[test]
    fn split_off_parts_do_not_match() {
        let clones = [".cold", ".part.0", ".constprop.0"].map(|s| format!("{REENTER}{s}"));
        let mut symbols: Vec<(&str, u64)> = clones.iter().map(|s| (s.as_str(), 1)).collect();
        symbols.push((REENTER, 2));
        let table = table(&symbols);
        let found = table.demangled("ObjectMonitor::ReenterI(JavaThread*, ObjectWaiter*)");
        assert_eq!(found.iter().map(|f| f.address).collect::<Vec<_>>(), [2]);
        assert_eq!(table.exact(REENTER, SymbolKind::Function).unwrap().address, 2);
    }

    #[test]
    fn other_arguments_do_not_match() {
        let table = table(&[(REENTER, 2)]);
        assert!(table.demangled("ObjectMonitor::ReenterI(Thread*, ObjectWaiter*)").is_empty());
        assert!(table.demangled("ObjectMonitor::Reenter(JavaThread*, ObjectWaiter*)").is_empty());
        assert!(table.demangled("ReenterI(JavaThread*, ObjectWaiter*)").is_empty());
    }

    #[test]
    fn an_alias_of_the_same_function_is_not_a_second_one() {
        let table = table(&[(REENTER, 2), (REENTER, 2)]);
        let found = table.demangled("ObjectMonitor::ReenterI(JavaThread*,ObjectWaiter*)");
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn a_prefix_of_a_name_is_not_the_name() {
        let table = table(&[("DebugNonSafepointsX", 1), ("DebugNonSafepoints", 2)]);
        assert_eq!(table.exact("DebugNonSafepoints", SymbolKind::Function).unwrap().address, 2);
    }
}
