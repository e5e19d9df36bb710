//! Class files (JVM specification, chapters 4 and 6): their constants, the instructions of their
//! methods, and how calls are made to lead to other methods. Bytes come from the VM or from anywhere:
//! nothing here panics at what is malformed.

pub mod instruction;
mod pool;
mod reader;
mod redirect;
mod rewritten;
mod text;

pub use pool::ConstantPool;
pub use reader::{ClassFileError, Reader, Result};
pub use redirect::{redirect, Redirect, Via};
pub use rewritten::Rewritten;
pub use text::modified_utf8;
