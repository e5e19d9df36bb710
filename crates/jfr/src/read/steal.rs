//! From values to the events of stolen time and transactions.

use super::chunk::Chunk;
use super::slot::{slot, Slot};
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
        let accounting = self.values.get(slot!("accounting")) as usize;
        MachineTime {
            start: self.start(),
            duration: self.end().since(self.start()),
            cpu: self.values.get(slot!("cpu")).checked_sub(1).and_then(|cpu| u16::try_from(cpu).ok()),
            busy: self.time_in(slot!("busy")),
            stolen: self.time_in(slot!("stolen")),
            idle: self.time_in(slot!("idle")),
            accounting: StealAccounting::ALL.get(accounting).copied().unwrap_or_default(),
        }
    }

    pub(super) fn thread_time(&self) -> ThreadTime {
        ThreadTime {
            start: self.start(),
            duration: self.end().since(self.start()),
            thread: self.thread(slot!("eventThread")),
            cpu: self.time_in(slot!("cpuTime")),
            run_queue: self.time_if(slot!("runQueueKnown"), slot!("runQueue")),
        }
    }

    pub(super) fn throttling(&self) -> Throttling {
        Throttling {
            start: self.start(),
            duration: self.end().since(self.start()),
            throttled: self.time_in(slot!("throttled")),
            periods: self.values.get(slot!("periods")),
            throttled_periods: self.values.get(slot!("throttledPeriods")),
            quota: self.time_in(slot!("quota")),
            period: self.time_in(slot!("period")),
            used: self.time_in(slot!("used")),
        }
    }

    pub(super) fn transaction(&self) -> Transaction {
        Transaction {
            time: self.end(),
            start: self.start(),
            thread: self.thread(slot!("eventThread")),
            kind: self.values.text(slot!("kind")),
            count: self.values.get(slot!("count")),
            id: self.values.get(slot!("id")),
            parent: self.values.get(slot!("parent")),
            cpu: self.time_if(slot!("cpuTimeKnown"), slot!("cpuTime")),
            blocked: self.time_in(slot!("blocked")),
            parked: self.time_in(slot!("parked")),
            waited: self.time_in(slot!("waited")),
            forgotten: self.values.get(slot!("forgotten")) != 0,
        }
    }
}
