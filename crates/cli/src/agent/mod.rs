//! The command line's side of what `docs/agent-protocol.md` describes: the
//! agent library, the option string it is loaded with and its reply.

pub mod library;
pub mod library_file;
pub mod options;
pub mod reply;
pub mod written;
