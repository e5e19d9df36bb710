//! The part of Headway that lives inside the JVM.
