//! The code of one function with its samples: source lines and instructions, each with self and total samples.
//!
//! `samples` counts, `assembly` decodes, `choice` selects the function by name, and `listing` combines counts with the
//! text. Only x86 and AArch64 are decoded; kernels and code generated at run time are not.

pub(crate) mod assembly;
pub(crate) mod choice;
pub(crate) mod listing;
pub(crate) mod samples;
#[cfg(test)]
pub(crate) mod test_code;
