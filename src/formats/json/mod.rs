//! JSON of any size without building a tree: skips values, decodes strings, and looks up parts of a document.

pub(crate) mod document;
pub(crate) mod lenient;
pub(crate) mod outline;
pub(crate) mod scan;
pub(crate) mod shapes;
pub(crate) mod skip;
pub(crate) mod sniff;
pub(crate) mod text;
