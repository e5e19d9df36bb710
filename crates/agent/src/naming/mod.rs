//! Lock names that a developer recognises, read from the bytecode in front of
//! the acquisition: `Inventory.lock`, `Foo.class`, `Inventory (this)`.

mod bytecode;
mod constant_pool;
mod expression;

pub use constant_pool::ConstantPool;
pub use expression::{lock_name, synchronizer_name, Site};
