//! Methods, frames and call chains.

use crate::id::{ChainId, MethodId};
use std::sync::Arc;

/// A method, as the class file names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Method {
    /// Class in dotted form, `com.acme.Inventory$Row`; empty for native code,
    /// where `name` is the symbol.
    pub class: Arc<str>,
    /// Method name, `rebuildIndex`, `<init>`.
    pub name: Arc<str>,
    /// Descriptor in class-file form, `(JLjava/lang/String;)V`; empty if unknown.
    pub descriptor: Arc<str>,
    /// Source file, `Inventory.java`; empty if unknown.
    pub source_file: Arc<str>,
    /// Class-file access flags.
    pub access_flags: u32,
    /// True if the method's class is hidden (lambda forms, proxies).
    pub hidden: bool,
}

/// What kind of code a frame ran in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub enum FrameKind {
    /// Bytecode run by the interpreter.
    #[default]
    Interpreted,
    /// Code compiled by C1 or C2, the frame's physical method.
    Compiled,
    /// A method inlined into the compiled frame below it.
    Inlined,
    /// A native method's Java side, or C/C++ code.
    Native,
}

/// One frame of a call chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The method that ran.
    pub method: MethodId,
    /// Bytecode index of the call or of the current instruction, -1 if unknown.
    pub bci: i32,
    /// Source line, 0 if unknown.
    pub line: u32,
    /// What kind of code it ran in.
    pub kind: FrameKind,
    /// True where debug information could not prove which inlined callee this
    /// was: the method is the physical one, its exact line or callee unknown.
    pub approximate: bool,
}

/// A thread's stack of methods at an event, leaf (innermost) first.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct CallChain {
    /// The frames, leaf first.
    pub frames: Vec<Frame>,
    /// True if the root is missing: the stack was deeper than what was walked,
    /// or the walk ended early.
    pub truncated: bool,
}

/// A chain together with the id under which events refer to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainDef {
    /// The id that events carry.
    pub id: ChainId,
    /// The frames.
    pub chain: CallChain,
}
