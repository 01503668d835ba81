//! A function with its samples, for tests of the panel that shows it.

use super::listing::{FunctionCode, NoAssembly, SourceLine, SourceListing};
use crate::model::SampleEvent;
use crate::query::flame::OwnAndTotal;
use crate::query::samples::SampleSum;
use crate::symbols::sources::SourceProblem;

/// Creates sums of samples of weight 1.
pub(crate) fn test_sums(own: u64, total: u64) -> OwnAndTotal {
    let sum = |samples| SampleSum { samples, weight: samples };
    OwnAndTotal { own: sum(own), total: sum(total) }
}

/// Creates a function with a line 7 of a file that was not read.
pub(crate) fn test_code(without_line: OwnAndTotal) -> FunctionCode {
    let lines = vec![SourceLine { number: 7, sums: test_sums(1, 2), text: None }];
    let (recorded, opened) = ("/a.c".to_owned(), Err(SourceProblem::NotNamed));
    FunctionCode {
        name: "f".to_owned(),
        module: "m".into(),
        event: SampleEvent { name: "cycles".into(), unit: "count".into() },
        sums: test_sums(4, 5),
        files: vec![SourceListing { recorded, opened, is_newer: false, lines }],
        without_line,
        assembly: Err(NoAssembly::NoFile),
    }
}
