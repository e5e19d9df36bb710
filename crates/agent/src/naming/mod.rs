//! Names of classes, and lock names that a developer recognises, read from the bytecode in front of
//! the acquisition: `Inventory.lock`, `Foo.class`, `Inventory (this)`.

mod bytecode;
mod constant_pool;
mod expression;
mod signature;

pub use constant_pool::ConstantPool;
pub use expression::{lock_name, suits_class, synchronizer_name, Site};
pub use signature::class_name;
