//! Headway hook.
