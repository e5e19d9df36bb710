//! Headway jfr.
