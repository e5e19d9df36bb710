//! Headway analysis.
