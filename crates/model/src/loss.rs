//! Why something is missing. Nothing is dropped silently: each cause has a
//! counter that reaches the recording and the report.

/// A cause of loss. Names are stable: they are the keys of `losses` in JSON
/// reports and of `headway.Loss` events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Loss {
    /// The memory bound for event buffers was reached; the event was dropped.
    BufferFull,
    /// The bound on tracked threads was reached.
    ThreadTableFull,
    /// The bound on tracked locks was reached.
    LockTableFull,
    /// The call chain table was full; the event was kept without its chain.
    ChainTableFull,
    /// A stack walk ended before the thread's first frame.
    ChainTruncated,
    /// A stack could not be walked at all; the event was kept without chain.
    ChainUnwalkable,
    /// A frame's method could not be named.
    MethodUnresolved,
    /// An acquisition was seen to end whose beginning was not recorded.
    UnpairedEntered,
    /// Numbers missing in the order of a lock's events.
    SeqGap,
    /// A bound inside an analysis was reached; totals are kept, detail is not.
    AnalysisFull,
    /// The recording could not be written (disk full, no permission).
    WriteFailed,
    /// A recording's bytes could not be understood and were skipped.
    Undecodable,
    /// A callback of ours panicked and was stopped at the border to the VM.
    Panic,
}

impl Loss {
    /// Every cause, in the order in which reports show them.
    pub const ALL: [Loss; 13] = [
        Loss::BufferFull,
        Loss::ThreadTableFull,
        Loss::LockTableFull,
        Loss::ChainTableFull,
        Loss::ChainTruncated,
        Loss::ChainUnwalkable,
        Loss::MethodUnresolved,
        Loss::UnpairedEntered,
        Loss::SeqGap,
        Loss::AnalysisFull,
        Loss::WriteFailed,
        Loss::Undecodable,
        Loss::Panic,
    ];

    /// The stable name, `buffer_full`.
    pub const fn name(self) -> &'static str {
        match self {
            Loss::BufferFull => "buffer_full",
            Loss::ThreadTableFull => "thread_table_full",
            Loss::LockTableFull => "lock_table_full",
            Loss::ChainTableFull => "chain_table_full",
            Loss::ChainTruncated => "chain_truncated",
            Loss::ChainUnwalkable => "chain_unwalkable",
            Loss::MethodUnresolved => "method_unresolved",
            Loss::UnpairedEntered => "unpaired_entered",
            Loss::SeqGap => "seq_gap",
            Loss::AnalysisFull => "analysis_full",
            Loss::WriteFailed => "write_failed",
            Loss::Undecodable => "undecodable",
            Loss::Panic => "panic",
        }
    }

    /// The cause with this stable name.
    pub fn from_name(name: &str) -> Option<Loss> {
        Loss::ALL.into_iter().find(|l| l.name() == name)
    }

    /// One plain sentence for the report: what it means for the reader.
    pub const fn explanation(self) -> &'static str {
        match self {
            Loss::BufferFull => "events dropped because the event buffers reached their memory bound",
            Loss::ThreadTableFull => "events of threads beyond the bound on tracked threads",
            Loss::LockTableFull => "events of locks beyond the bound on tracked locks",
            Loss::ChainTableFull => "events kept without call chain because the chain table was full",
            Loss::ChainTruncated => "call chains that end before the thread's first method",
            Loss::ChainUnwalkable => "events kept without call chain because the stack could not be walked",
            Loss::MethodUnresolved => "frames whose method could not be named",
            Loss::UnpairedEntered => "acquisitions whose beginning was not seen (recording started in between)",
            Loss::SeqGap => "events known to be missing from a lock's order",
            Loss::AnalysisFull => "details folded together because an analysis reached its memory bound",
            Loss::WriteFailed => "events that could not be written to the recording",
            Loss::Undecodable => "parts of the recording that could not be read",
            Loss::Panic => "internal errors that were contained",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lead_back() {
        for loss in Loss::ALL {
            assert_eq!(Loss::from_name(loss.name()), Some(loss));
        }
    }
}
