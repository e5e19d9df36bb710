//! From values to the events of stolen time and transactions.

use super::chunk::Chunk;
use super::plan::Slot;
use headway_model::event::{MachineTime, StealAccounting, ThreadTime, Throttling, Transaction};
use headway_model::DurationNs;

impl Chunk {
    fn time_in(&self, slot: Slot) -> DurationNs {
        DurationNs(self.values.get(slot))
    }

    fn time_if(&self, known: Slot, slot: Slot) -> Option<DurationNs> {
        (self.values.get(known) != 0).then(|| self.time_in(slot))
    }

    pub(super) fn machine_time(&self) -> MachineTime {
        let accounting = self.values.get(Slot::Accounting) as usize;
        MachineTime {
            start: self.start(),
            duration: self.end().since(self.start()),
            cpu: self.values.get(Slot::CpuFromOne).checked_sub(1).and_then(|cpu| u16::try_from(cpu).ok()),
            busy: self.time_in(Slot::Busy),
            stolen: self.time_in(Slot::Stolen),
            idle: self.time_in(Slot::Idle),
            accounting: StealAccounting::ALL.get(accounting).copied().unwrap_or_default(),
        }
    }

    pub(super) fn thread_time(&self) -> ThreadTime {
        ThreadTime {
            start: self.start(),
            duration: self.end().since(self.start()),
            thread: self.thread(Slot::Thread),
            cpu: self.time_in(Slot::CpuTime),
            run_queue: self.time_if(Slot::RunQueueKnown, Slot::RunQueue),
        }
    }

    pub(super) fn throttling(&self) -> Throttling {
        Throttling {
            start: self.start(),
            duration: self.end().since(self.start()),
            throttled: self.time_in(Slot::Throttled),
            periods: self.values.get(Slot::Periods),
            throttled_periods: self.values.get(Slot::ThrottledPeriods),
            quota: self.time_in(Slot::Quota),
            period: self.time_in(Slot::Period),
            used: self.time_in(Slot::Used),
        }
    }

    pub(super) fn transaction(&self) -> Transaction {
        Transaction {
            time: self.end(),
            start: self.start(),
            thread: self.thread(Slot::Thread),
            kind: self.values.text(Slot::Kind),
            count: self.values.get(Slot::Count),
            id: self.values.get(Slot::Id),
            parent: self.values.get(Slot::Parent),
            cpu: self.time_if(Slot::CpuTimeKnown, Slot::CpuTime),
            blocked: self.time_in(Slot::Blocked),
            parked: self.time_in(Slot::Parked),
            waited: self.time_in(Slot::Waited),
            forgotten: self.values.get(Slot::Forgotten) != 0,
        }
    }
}
