//! The accounting in a deterministic machine: known answers, and the faults of
//! other rules as counter-examples. Within one point, where nothing else is
//! said.

mod known_answers;
mod machine;
mod open_loop;
mod other_rules;
