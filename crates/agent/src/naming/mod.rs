//! Names of classes, and lock names that a developer recognises, read from the bytecode in front of
//! the acquisition: `Inventory.lock`, `Foo.class`, `Inventory (this)`.

mod expression;
mod signature;

pub use expression::{lock_name, suits_class, synchronizer_name, Site};
pub use signature::{class_name, without_run};
