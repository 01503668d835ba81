//! Recognises pages (HTML), whose scripts may contain a trace.

/// Returns whether the text starts like an HTML page, after comments.
pub(crate) fn is_page(head: &[u8]) -> bool {
    let mut head = head.trim_ascii_start();
    while head.starts_with(b"<!--")
        && let Some(end) = memchr::memmem::find(head, b"-->")
    {
        head = head[end + 3..].trim_ascii_start();
    }
    let begins = |text: &[u8]| head.get(..text.len()).is_some_and(|head| head.eq_ignore_ascii_case(text));
    begins(b"<!doctype html") || begins(b"<html")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_may_begin_with_comments() {
        for head in ["<html>", " <!DOCTYPE HTML>", "<!-- saved from x -->\n<!--y--><!doctype html>"] {
            assert!(is_page(head.as_bytes()), "{head}");
        }
        for head in ["", "<!-- saved from <html>", "x<html>"] {
            assert!(!is_page(head.as_bytes()), "{head}");
        }
    }
}
