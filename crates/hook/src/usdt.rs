//! USDT.
