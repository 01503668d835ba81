//! Typical keys of the supported JSON formats, to name the nearest formats of an unrecognised document.

use std::fmt::Write as _;

use super::outline::Outline;
use crate::base::similar::nearest as nearest_name;

/// A format, and keys near the start of its documents, as paths of [`Outline`].
struct JsonShape {
    name: &'static str,
    keys: &'static [&'static str],
}

const SHAPES: [JsonShape; 11] = [
    JsonShape { name: "Chrome JSON", keys: &["[].ph", "[].ts", "[].pid", "[].tid", "[].name"] },
    JsonShape { name: "Chrome JSON", keys: &["traceEvents", "traceEvents[].ph", "traceEvents[].ts"] },
    JsonShape { name: "Zipkin", keys: &["[].traceId", "[].id", "[].name", "[].timestamp", "[].duration"] },
    JsonShape { name: "Jaeger", keys: &["data", "data[].traceID", "data[].spans", "data[].processes"] },
    JsonShape { name: "HAR", keys: &["log", "log.version", "log.creator", "log.entries"] },
    JsonShape { name: "OpenTelemetry JSON", keys: &["resourceSpans", "resourceSpans[].scopeSpans"] },
    JsonShape { name: "V8 CPU profile", keys: &["nodes", "nodes[].callFrame", "samples", "timeDeltas"] },
    JsonShape { name: "V8 heap profile", keys: &["head", "head.callFrame", "head.selfSize", "head.children"] },
    JsonShape { name: "speedscope", keys: &["$schema", "profiles", "shared", "shared.frames"] },
    JsonShape { name: "Firefox profile", keys: &["meta", "meta.interval", "threads", "libs"] },
    JsonShape { name: "Next.js trace", keys: &["[].traceId", "[].id", "[].startTime", "[].tags", "[].parentId"] },
];

/// Describes an unrecognised document in an error: its first keys, and the two formats with the most of them.
pub(crate) fn nearest(head: &[u8]) -> String {
    let outline = Outline::from_head(head);
    let mut text = match outline.first_keys() {
        keys if keys.is_empty() => String::new(),
        keys => format!(", with the keys {keys}"),
    };
    let score = |shape: &JsonShape| outline.count_of(shape.keys) * 100 / shape.keys.len();
    let mut scored: Vec<_> =
        SHAPES.iter().map(|shape| (score(shape), shape)).filter(|(score, _)| *score >= 50).collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let named = |(_, shape): &(usize, &JsonShape)| {
        format!("{} ({} of its {} keys)", shape.name, outline.count_of(shape.keys), shape.keys.len())
    };
    let best: Vec<_> = scored.iter().take(2).map(named).collect();
    if !best.is_empty() {
        text.push_str("; nearest to ");
        text.push_str(&best.join(" and "));
    } else if let Some((key, meant, format)) = mistyped_key(&outline) {
        write!(text, "; `{key}` is similar to `{meant}` of {format}").ok(); // into memory
    }
    text
}

/// Returns a key of the document, the key of a format that it is similar to, and that format.
fn mistyped_key(outline: &Outline) -> Option<(&str, &'static str, &'static str)> {
    outline.keys().iter().find_map(|key| {
        let named = SHAPES.iter().flat_map(|shape| shape.keys.iter().map(|path| (*path, shape.name)));
        let outer: Vec<_> =
            named.filter(|(path, _)| path.len() > SHORT_KEY_LEN && !path.contains(['.', '['])).collect();
        let meant = nearest_name(key, outer.iter().map(|(path, _)| *path))?;
        outer.iter().find(|(path, _)| *path == meant && meant != key).map(|(path, name)| (&**key, *path, *name))
    })
}

/// Keys up to this length, such as `log`, are similar to many words.
const SHORT_KEY_LEN: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_of_no_kind_is_compared_with_those_that_share_its_keys() {
        assert_eq!(nearest(br#"[{"a":1,"b":2}]"#), ", with the keys a, b");
        let spans = br#"[{"traceId":"1","id":"2","name":"x","parentId":"3","duration":5}]"#;
        let text = nearest(spans);
        assert!(text.ends_with("; nearest to Zipkin (4 of its 5 keys) and Next.js trace (3 of its 5 keys)"), "{text}");
        assert_eq!(nearest(b"no json"), "");
        let text = nearest(br#"{"traceEvent":[]}"#);
        assert_eq!(text, ", with the keys traceEvent; `traceEvent` is similar to `traceEvents` of Chrome JSON");
        let text = nearest(br#"{"version":1,"resourceSpan":[]}"#);
        assert!(text.ends_with("; `resourceSpan` is similar to `resourceSpans` of OpenTelemetry JSON"), "{text}");
    }
}
