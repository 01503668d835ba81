//! The code of one function with its samples: source lines and instructions, each with the samples that were taken
//! there and those that were taken in what it called.
//!
//! `samples` counts, `assembly` decodes, `choice` finds the function by its name, and `listing` puts counts beside the
//! text. Decodes code of x86 alone; the code of kernels and what programs make at run time is not decoded.

pub(crate) mod assembly;
pub(crate) mod choice;
pub(crate) mod listing;
pub(crate) mod samples;
