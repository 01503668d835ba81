//! Parses `kallsyms`, the symbols of a running kernel, one per line: `address type name [module]`. Kernels list zeros
//! for users who may not see addresses.

use crate::base::hex::hex_number;

/// The functions of a kernel by address.
#[derive(Debug, Default)]
pub(super) struct KernelFunctions {
    rows: Vec<(u64, u32)>,
    /// Names, each prefixed by its length in two bytes.
    text: Vec<u8>,
}

impl KernelFunctions {
    /// Parses a list; `None` if it has no address.
    pub(super) fn read(list: &[u8]) -> Option<Self> {
        let mut functions = Self::default();
        for line in list.split(|&byte| byte == b'\n') {
            let mut parts = line.split(u8::is_ascii_whitespace).filter(|part| !part.is_empty());
            let (Some(address), Some(kind), Some(name)) = (parts.next(), parts.next(), parts.next()) else { continue };
            let Some(address) = hex_number(address).filter(|&address| address != 0) else { continue };
            if !matches!(kind, b"T" | b"t" | b"W" | b"w") || name.starts_with(b"$") {
                continue;
            }
            let module = parts.next().unwrap_or_default();
            let Ok(len) = u16::try_from(name.len() + module.len() + usize::from(!module.is_empty())) else { continue };
            let Ok(at) = u32::try_from(functions.text.len()) else { break };
            functions.rows.push((address, at));
            functions.text.extend(len.to_le_bytes());
            functions.text.extend_from_slice(name);
            if !module.is_empty() {
                functions.text.push(b' ');
                functions.text.extend_from_slice(module);
            }
        }
        // Stable, so that several at one address stay in list order.
        functions.rows.sort_by_key(|&(address, _)| address);
        (!functions.rows.is_empty()).then_some(functions)
    }

    /// Returns the function that contains an address, the first of several; a kernel does not list sizes.
    pub(super) fn find(&self, address: u64) -> Option<&[u8]> {
        let after = self.rows.partition_point(|&(start, _)| start <= address);
        let start = self.rows.get(after.checked_sub(1)?)?.0;
        let first = self.rows.partition_point(|&(address, _)| address < start);
        Some(self.name(self.rows[first].1))
    }

    /// Returns the address of a function.
    pub(super) fn address_of(&self, name: &[u8]) -> Option<u64> {
        self.rows.iter().find(|&&(_, at)| self.name(at) == name).map(|&(address, _)| address)
    }

    fn name(&self, at: u32) -> &[u8] {
        let rest = &self.text[at as usize..];
        let len = usize::from(u16::from_le_bytes([rest[0], rest[1]]));
        &rest[2..2 + len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_address_and_data_are_none() {
        let list =
            b"ffff0010 T _stext\nffff0010 t alias\nffff0020 D data\nffff0030 t work\t[module]\nwrong\n\nffff0040 T";
        let functions = KernelFunctions::read(list).unwrap();
        let at = |address| functions.find(address).map(|name| String::from_utf8_lossy(name).into_owned());
        assert_eq!((at(0xffff_000f), at(0xffff_002f)), (None, Some("_stext".to_owned())));
        assert_eq!(at(0xffff_ffff), Some("work [module]".to_owned()));
        assert_eq!(at(0xffff_0010), Some("_stext".to_owned()));
        // The symbol that locates a kernel may share its address with others.
        assert_eq!(functions.address_of(b"alias"), Some(0xffff_0010));
    }

    #[test]
    fn a_kernel_that_hides_its_addresses_has_no_names() {
        assert!(KernelFunctions::read(b"0000000000000000 T _stext\n0000000000000000 T work\n").is_none());
        assert!(KernelFunctions::read(b"").is_none());
    }
}
