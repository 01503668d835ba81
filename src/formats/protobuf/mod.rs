//! Protobuf fields out of bytes and into them, without descriptors.

pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod numbers;
