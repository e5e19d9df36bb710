//! Headway hotspot.
