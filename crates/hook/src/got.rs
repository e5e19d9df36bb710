//! GOT.
