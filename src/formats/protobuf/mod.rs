//! Decodes and encodes protobuf fields without descriptors.

pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod message;
pub(crate) mod numbers;
