//! Headway signal.
