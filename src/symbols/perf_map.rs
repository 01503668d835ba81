//! Parses `perf-PID.map`, in which a program lists its JIT-compiled functions for perf, one per line: `start size
//! name`, in hexadecimal. A later line replaces the earlier code that it overlaps.

use super::latest::{LatestRanges, LatestRangesBuilder};
use crate::base::hex::prefixed_hex_number;

/// Functions by address. Names are ranges of the list.
#[derive(Debug, Default)]
pub(super) struct JitFunctions {
    /// Start and end of the names.
    rows: LatestRanges<(usize, usize)>,
    list: Vec<u8>,
}

impl JitFunctions {
    /// Parses a list; invalid lines are skipped.
    pub(super) fn read(list: Vec<u8>) -> Self {
        let mut rows = LatestRangesBuilder::default();
        let mut start = 0;
        for line in list.split(|&byte| byte == b'\n') {
            if let Some((from, to, name)) = row(line) {
                let name = (start + name, start + line.len());
                rows.push(from, to, name, |one, other| list[one.0..one.1] == list[other.0..other.1]);
            }
            start += line.len() + 1;
        }
        Self { rows: rows.finish(), list }
    }

    /// Returns the function that contains an address.
    pub(super) fn find(&self, address: u64) -> Option<&[u8]> {
        self.rows.find(address).map(|&(start, end)| &self.list[start..end])
    }

    /// Returns whether several functions were at an address.
    pub(super) fn is_replaced(&self, address: u64) -> bool {
        self.rows.is_replaced(address)
    }
}

/// Returns start and end of a function, and where its name starts in the line.
fn row(line: &[u8]) -> Option<(u64, u64, usize)> {
    let first = memchr::memchr(b' ', line)?;
    let second = first + 1 + memchr::memchr(b' ', &line[first + 1..])?;
    let (from, bytes) = (prefixed_hex_number(&line[..first])?, prefixed_hex_number(&line[first + 1..second])?);
    (second + 1 < line.len()).then_some((from, from.checked_add(bytes)?, second + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_took_the_place_of_other_code_has_its_own_name() {
        let list = b"1000 20 old\n2000 10 Function: a b\n1000 10 new\n1000 30 \nwrong\n3000 zz no\n0x4000 0x8 hex\nffffffffffffffff 2 end";
        let functions = JitFunctions::read(list.to_vec());
        let at = |address| functions.find(address).map(|name| String::from_utf8_lossy(name).into_owned());
        assert_eq!((at(0x1008), at(0x1018)), (Some("new".to_owned()), Some("old".to_owned())));
        assert_eq!([0x1008, 0x1018, 0x2000].map(|address| functions.is_replaced(address)), [true, false, false]);
        assert_eq!((at(0x2000), at(0x2010)), (Some("Function: a b".to_owned()), None));
        assert_eq!((at(0x4007), at(u64::MAX)), (Some("hex".to_owned()), None));
    }

    #[test]
    fn code_within_other_code_and_over_its_start_has_its_own_name() {
        let list = b"6600 1000 old\n6500 900 new\n8600 1000 big\n8a00 10 small";
        let functions = JitFunctions::read(list.to_vec());
        let at = |address| functions.find(address).map(|name| String::from_utf8_lossy(name).into_owned());
        let named = [0x6500, 0x6700, 0x6e00, 0x8600, 0x8a00, 0x8a10, 0x9600].map(at);
        let expected = ["new", "new", "old", "big", "small", "big"].map(|name| Some(name.to_owned()));
        assert_eq!((&named[..6], &named[6]), (&expected[..], &None));
    }
}
