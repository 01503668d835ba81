//! Parses `perf-PID.map`, in which a program lists its JIT-compiled functions for perf, one per line: `start size
//! name`, in hexadecimal. A later line may replace earlier code.

/// Functions by address. Names are ranges of the list.
#[derive(Debug, Default)]
pub(super) struct JitFunctions {
    /// Start, end, and range of the name.
    rows: Vec<(u64, u64, std::ops::Range<usize>)>,
    list: Vec<u8>,
}

impl JitFunctions {
    /// Parses a list; invalid lines are skipped.
    pub(super) fn read(list: Vec<u8>) -> Self {
        let mut rows = Vec::new();
        let mut start = 0;
        for line in list.split(|&byte| byte == b'\n') {
            rows.extend(row(line).map(|(from, to, name)| (from, to, start + name..start + line.len())));
            start += line.len() + 1;
        }
        // The last at one start wins. The sort is stable, so reversing puts it first.
        rows.reverse();
        rows.sort_by_key(|&(from, ..)| from);
        rows.dedup_by_key(|(from, ..)| *from);
        Self { rows, list }
    }

    /// Returns the function that contains an address.
    pub(super) fn find(&self, address: u64) -> Option<&[u8]> {
        let after = self.rows.partition_point(|&(from, ..)| from <= address);
        let (_, to, name) = self.rows.get(after.checked_sub(1)?)?;
        (address < *to).then(|| &self.list[name.clone()])
    }
}

/// Returns start and end of a function, and where its name starts in the line.
fn row(line: &[u8]) -> Option<(u64, u64, usize)> {
    let number = |digits: &[u8]| {
        let digits = std::str::from_utf8(digits).ok()?;
        u64::from_str_radix(digits.strip_prefix("0x").unwrap_or(digits), 16).ok()
    };
    let first = memchr::memchr(b' ', line)?;
    let second = first + 1 + memchr::memchr(b' ', &line[first + 1..])?;
    let (from, bytes) = (number(&line[..first])?, number(&line[first + 1..second])?);
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
        assert_eq!((at(0x1008), at(0x1018)), (Some("new".to_owned()), None));
        assert_eq!((at(0x2000), at(0x2010)), (Some("Function: a b".to_owned()), None));
        assert_eq!((at(0x4007), at(u64::MAX)), (Some("hex".to_owned()), None));
    }
}
