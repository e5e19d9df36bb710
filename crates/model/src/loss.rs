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
    /// A thread without samples: the kernel refused what samples it (a timer, a perf event), or
    /// too many threads started at once.
    ThreadUnsampled,
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
    /// A thread was blocked on a monitor before the recording began and still when
    /// it ended; no event reports it.
    BlockedThroughout,
    /// Numbers missing in the order of a lock's events.
    SeqGap,
    /// A bound inside an analysis was reached; totals are kept, detail is not.
    AnalysisFull,
    /// The recording could not be written (disk full, no permission).
    WriteFailed,
    /// The recording's end took longer than it may; what was queued was dropped.
    Unfinished,
    /// A recording's bytes could not be understood and were skipped.
    Undecodable,
    /// A callback of ours panicked and was stopped at the border to the VM.
    Panic,
    /// A CPU sample found no room, or the decoder fell behind; it was dropped.
    SampleLost,
    /// A sampled stack was deeper than what was copied of it; its root is missing.
    SampleShort,
    /// Code on a sampled stack was replaced before it was decoded; the stack ends there.
    SampleCodeGone,
    /// A sampled stack stood in native code that could not be unwound.
    SampleNative,
    /// A sampled stack made no sense at some frame; it ends there.
    SampleUndecodable,
    /// The older frames of a sampled virtual thread were in the heap; its root is missing.
    SampleInHeap,
    /// It was not known which virtual thread a carrier ran; the sample counts for the carrier.
    SampleUnattributed,
    /// A waiting thread ran while its stack was copied; the sample was discarded.
    SampleMoved,
    /// The kernel refused to copy a waiting thread's stack; the sample was dropped.
    SampleUnreadable,
    /// A transaction that began was never seen to end.
    TransactionForgotten,
    /// A transaction was not followed: too many open at once, or nested too deeply.
    TransactionLost,
    /// Bytes of events that JFR could not keep, in a recording of its own.
    RecorderBytes,
}

impl Loss {
    /// Every cause, in the order in which reports show them.
    pub const ALL: [Loss; 28] = [
        Loss::BufferFull,
        Loss::ThreadTableFull,
        Loss::ThreadUnsampled,
        Loss::LockTableFull,
        Loss::ChainTableFull,
        Loss::ChainTruncated,
        Loss::ChainUnwalkable,
        Loss::MethodUnresolved,
        Loss::UnpairedEntered,
        Loss::BlockedThroughout,
        Loss::SeqGap,
        Loss::AnalysisFull,
        Loss::WriteFailed,
        Loss::Undecodable,
        Loss::Panic,
        Loss::SampleLost,
        Loss::SampleShort,
        Loss::SampleCodeGone,
        Loss::SampleNative,
        Loss::SampleUndecodable,
        Loss::SampleInHeap,
        Loss::SampleUnattributed,
        Loss::SampleMoved,
        Loss::SampleUnreadable,
        Loss::TransactionForgotten,
        Loss::TransactionLost,
        Loss::RecorderBytes,
        Loss::Unfinished,
    ];

    /// The stable name, `buffer_full`.
    pub const fn name(self) -> &'static str {
        match self {
            Loss::BufferFull => "buffer_full",
            Loss::ThreadTableFull => "thread_table_full",
            Loss::ThreadUnsampled => "thread_unsampled",
            Loss::LockTableFull => "lock_table_full",
            Loss::ChainTableFull => "chain_table_full",
            Loss::ChainTruncated => "chain_truncated",
            Loss::ChainUnwalkable => "chain_unwalkable",
            Loss::MethodUnresolved => "method_unresolved",
            Loss::UnpairedEntered => "unpaired_entered",
            Loss::BlockedThroughout => "blocked_throughout",
            Loss::SeqGap => "seq_gap",
            Loss::AnalysisFull => "analysis_full",
            Loss::WriteFailed => "write_failed",
            Loss::Unfinished => "unfinished",
            Loss::Undecodable => "undecodable",
            Loss::Panic => "panic",
            Loss::SampleLost => "sample_lost",
            Loss::SampleShort => "sample_short",
            Loss::SampleCodeGone => "sample_code_gone",
            Loss::SampleNative => "sample_native",
            Loss::SampleUndecodable => "sample_undecodable",
            Loss::SampleInHeap => "sample_in_heap",
            Loss::SampleUnattributed => "sample_unattributed",
            Loss::SampleMoved => "sample_moved",
            Loss::SampleUnreadable => "sample_unreadable",
            Loss::TransactionForgotten => "transaction_forgotten",
            Loss::TransactionLost => "transaction_lost",
            Loss::RecorderBytes => "recorder_bytes",
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
            Loss::ThreadUnsampled => {
                "threads without samples: the kernel refused a timer or perf event, or too many started"
            }
            Loss::LockTableFull => "events of locks beyond the bound on tracked locks",
            Loss::ChainTableFull => "events kept without call stack because the table of stacks was full",
            Loss::ChainTruncated => "call stacks that end before the thread's first method",
            Loss::ChainUnwalkable => "events kept without call stack because it could not be walked",
            Loss::MethodUnresolved => "frames whose method could not be named",
            Loss::UnpairedEntered => "contentions whose beginning was not recorded (most began before the recording)",
            Loss::BlockedThroughout => {
                "threads blocked on a monitor all the time, since before the recording: not counted"
            }
            Loss::SeqGap => "events known to be missing from a lock's order",
            Loss::AnalysisFull => "details (such as call stacks, owners or intervals) that were added up or left out because a table was full, of this analysis or of the one in the JVM; docs/troubleshooting.md says which numbers are right",
            Loss::WriteFailed => {
                "events that could not be written to the recording, or that another program cut off from its file"
            }
            Loss::Unfinished => "events dropped because the recording had to end before they were read",
            Loss::Undecodable => "parts of the recording that could not be read",
            Loss::Panic => "internal errors that were contained",
            Loss::SampleLost => "CPU samples dropped because Headway could not decode them as fast as they came",
            Loss::SampleShort => "sampled stacks without their root: deeper than the part that was copied",
            Loss::SampleCodeGone => "sampled stacks cut off because their code was replaced before they were decoded",
            Loss::SampleNative => "sampled stacks cut off in native code without unwind tables",
            Loss::SampleUndecodable => "sampled stacks cut off at a frame that could not be decoded",
            Loss::SampleInHeap => "sampled stacks of virtual threads without their root, which lay in the heap",
            Loss::SampleUnattributed => "samples of virtual threads that count for their carrier",
            Loss::SampleMoved => "wall-clock samples discarded because the thread began to run meanwhile",
            Loss::SampleUnreadable => "wall-clock samples dropped because the kernel refused to copy the stack",
            Loss::TransactionForgotten => "transactions that began and were never ended",
            Loss::TransactionLost => "transactions not followed because too many were open at once",
            Loss::RecorderBytes => "bytes of events that JFR dropped because its buffers were full",
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
