//! The head of a page of cargo: its title with the built packages, and the start of the build.

use crate::base::time::epoch_nanos;

/// Beginning of the title of each page.
const TITLE: &[u8] = b"<title>Cargo Build Timings";

/// Name of a build whose page names no package.
const UNNAMED: &str = "Build";

/// Facts about the build before the lists.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PageHead {
    pub(super) name: String,
    /// Since 1970; 0 if the page does not say it.
    pub(super) start_ns: i64,
}

/// Returns whether this is the start of a page of cargo.
pub(crate) fn is_page(head: &[u8]) -> bool {
    let begins = |text: &[u8]| {
        let head = head.trim_ascii_start();
        head.get(..text.len()).is_some_and(|head| head.eq_ignore_ascii_case(text))
    };
    (begins(b"<html") || begins(b"<!doctype html")) && memchr::memmem::find(head, TITLE).is_some()
}

impl PageHead {
    pub(super) fn from_text(text: &[u8]) -> Self {
        let title = between(text, TITLE, b"</title>").map(String::from_utf8_lossy).unwrap_or_default();
        let packages = title.split_once('\u{2014}').map_or("", |(_, packages)| packages);
        let mut names: Vec<&str> = Vec::new();
        for name in packages.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            // A package with several targets is listed for each.
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let name = if names.is_empty() { UNNAMED.to_owned() } else { names.join(", ") };
        let start = between(text, b"<td>Build start:</td><td>", b"</td>");
        let start = start.and_then(|cell| std::str::from_utf8(cell).ok());
        Self { name, start_ns: start.and_then(epoch_nanos).unwrap_or(0) }
    }
}

/// Returns the text between two others.
fn between<'h>(head: &'h [u8], before: &[u8], after: &[u8]) -> Option<&'h [u8]> {
    let rest = &head[memchr::memmem::find(head, before)? + before.len()..];
    Some(&rest[..memchr::memmem::find(rest, after)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_names_each_package_once() {
        let name = |title: &str| PageHead::from_text(format!("\n<html><title>{title}</title>").as_bytes()).name;
        assert_eq!(name("Cargo Build Timings \u{2014} a 0.1.0, b 2.0.0, a 0.1.0"), "a 0.1.0, b 2.0.0");
        assert_eq!(name("Cargo Build Timings \u{2014} "), UNNAMED);
        assert_eq!([name("Cargo Build Timings"), name("x")], [UNNAMED; 2]);
        let start =
            |cell: &str| PageHead::from_text(format!("<td>Build start:</td><td>{cell}</td>").as_bytes()).start_ns;
        assert_eq!([start("1970-01-01T00:00:01.5Z"), start("x")], [1_500_000_000, 0]);
    }

    #[test]
    fn other_pages_are_not_of_cargo() {
        assert!(is_page(b"\n<html>\n<head>\n  <title>Cargo Build Timings \xe2\x80\x94 x</title>"));
        assert!(is_page(b"<!DOCTYPE html>\n<title>Cargo Build Timings"));
        for head in
            ["<html><title>Cargo</title>", "<title>Cargo Build Timings", "x <html><title>Cargo Build Timings", ""]
        {
            assert!(!is_page(head.as_bytes()), "{head}");
        }
    }
}
