//! JSON of any size without a tree of values: steps over values, decodes text, and finds the parts of a document.

pub(crate) mod document;
pub(crate) mod outline;
pub(crate) mod scan;
pub(crate) mod shapes;
pub(crate) mod skip;
pub(crate) mod sniff;
pub(crate) mod text;
