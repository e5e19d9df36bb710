//! Events of stolen time and transactions as bytes.

use super::events::Context;
use crate::encode::Encoder;
use crate::schema::id;
use headway_model::event::{MachineTime, StealAccounting, ThreadTime, Throttling, Transaction};

impl Context<'_> {
    pub(super) fn machine_time(&self, e: &MachineTime, out: &mut Encoder) {
        out.event(|o| {
            self.span(id::MACHINE_TIME, e.start, e.start + e.duration, o);
            o.int(e.cpu.map_or(-1, i32::from));
            o.varint(e.busy.0);
            o.varint(e.stolen.0);
            o.varint(e.idle.0);
            o.int(match e.accounting {
                StealAccounting::Unknown => 0,
                StealAccounting::LeftOut => 1,
                StealAccounting::Included => 2,
            });
        });
    }

    pub(super) fn thread_time(&mut self, e: &ThreadTime, out: &mut Encoder) {
        out.event(|o| {
            self.span(id::THREAD_TIME, e.start, e.start + e.duration, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(e.cpu.0);
            o.varint(e.run_queue.map_or(0, |wait| wait.0));
            o.byte(u8::from(e.run_queue.is_some()));
        });
    }

    pub(super) fn throttling(&self, e: &Throttling, out: &mut Encoder) {
        out.event(|o| {
            self.span(id::THROTTLING, e.start, e.start + e.duration, o);
            o.varint(e.throttled.0);
            o.varint(e.periods);
            o.varint(e.throttled_periods);
            o.varint(e.quota.0);
            o.varint(e.period.0);
            o.varint(e.used.0);
        });
    }

    pub(super) fn transaction(&mut self, e: &Transaction, out: &mut Encoder) {
        out.event(|o| {
            self.span(id::TRANSACTION, e.start, e.time, o);
            o.varint(self.constants.thread(e.thread));
            o.varint(e.count);
            o.varint(e.id);
            o.varint(e.parent);
            o.varint(e.cpu.map_or(0, |cpu| cpu.0));
            o.byte(u8::from(e.cpu.is_some()));
            o.varint(e.blocked.0);
            o.varint(e.parked.0);
            o.varint(e.waited.0);
            o.byte(u8::from(e.forgotten));
            o.string(&e.kind);
        });
    }
}
