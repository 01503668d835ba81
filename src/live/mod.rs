//! Sources that still run: bytes as they come in, events in order of time out. A part of nothing that is loaded: it
//! keeps no store, and holds no more than its limits whatever the sources send.
//!
//! [`orderer`] puts events in order.

pub(crate) mod orderer;
