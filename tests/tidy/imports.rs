//! The data flow: the modules that each module may import, and the packages that each file may use.

use crate::code::{is_word, words};

/// The allowed imports of each module: only modules to its left in the data flow.
pub(crate) const IMPORTS: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("model", &["base"]),
    ("formats", &["base", "model"]),
    ("store", &["base", "model"]),
    ("ingest", &["base", "model", "formats", "store"]),
    ("query", &["base", "model", "store"]),
    ("symbols", &["base", "model", "query"]),
    ("export", &["base", "model", "formats", "store", "query", "symbols"]),
    ("live", &["base", "model", "formats", "store", "ingest", "query"]),
    ("synth", &["base", "model", "formats"]),
    ("scene", &["base", "model", "store", "query"]),
    ("tiles", &["base", "model", "store", "query", "scene"]),
    ("frame", &["base", "model", "store", "query", "scene", "tiles"]),
    ("render", &["base", "scene"]),
    ("ui", &["base", "model", "store", "query", "symbols", "export", "scene", "tiles", "frame", "render"]),
    (
        "app",
        &[
            "base", "model", "formats", "store", "ingest", "query", "symbols", "live", "export", "synth", "scene",
            "tiles", "frame", "render", "ui",
        ],
    ),
    (
        "cli",
        &[
            "base", "model", "formats", "store", "ingest", "query", "symbols", "live", "export", "synth", "scene",
            "tiles", "frame", "render", "ui", "app",
        ],
    ),
    (
        "facade",
        &[
            "base", "model", "formats", "store", "ingest", "query", "symbols", "live", "export", "synth", "scene",
            "tiles", "frame", "render", "ui", "app", "cli",
        ],
    ),
    ("main", &["run"]),
    ("lib", &[]),
];

/// The allowed files of each package, by path prefixes.
pub(crate) const PACKAGES: &[(&str, &[&str])] = &[
    ("memmap2", &["src/base/mapped.rs"]),
    ("wgpu", &["src/render/", "src/app/"]),
    ("egui_wgpu", &["src/render/", "src/app/"]),
    ("egui", &["src/ui/", "src/render/", "src/app/"]),
    ("egui_winit", &["src/app/"]),
    ("egui_system_font_provider", &["src/app/fonts.rs"]),
    ("winit", &["src/app/"]),
    ("rfd", &["src/app/"]),
    ("zbus", &["src/app/"]),
    ("x11rb", &["src/app/keyboard.rs", "tests/window/"]),
    ("clap", &["src/cli/"]),
    ("signal_hook", &["src/base/"]),
    ("httparse", &["src/live/listen/"]),
    ("libc", &["src/base/mapped.rs"]),
    ("gimli", &["src/symbols/"]),
    ("cpp_demangle", &["src/base/demangle.rs"]),
    ("lzma_rust2", &["src/symbols/"]),
    ("rustc_demangle", &["src/base/demangle.rs"]),
    ("strsim", &["src/base/similar.rs"]),
];

/// Returns the top-level module of a file below `src`.
pub(crate) fn module_of(path: &str) -> &str {
    let below = path.strip_prefix("src/").unwrap_or(path);
    below.split_once('/').map_or_else(|| below.trim_end_matches(".rs"), |(folder, _)| folder)
}

/// Returns every path from the crate root, as its position and its top-level module.
pub(crate) fn imports<'a>(path: &str, code: &'a str) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    let root = if path == "src/main.rs" { "longspan" } else { "crate" };
    for at in words(code, root) {
        let Some(rest) = code[at + root.len()..].strip_prefix("::") else { continue };
        found.extend(first_segments(rest).into_iter().map(|segment| (at, segment)));
    }
    // As many `super::` as the file has levels reach the crate root.
    let below = path.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
    let depth = below.split('/').count();
    for at in words(code, "super").filter(|&at| !code[..at].ends_with("super::")) {
        let rest = code[at..].trim_start_matches("super::");
        let steps = (code.len() - at - rest.len()) / "super::".len();
        if steps < depth {
            continue;
        }
        let known = |segment: &&str| IMPORTS.iter().any(|(module, _)| module == segment);
        found.extend(first_segments(rest).into_iter().filter(known).map(|segment| (at, segment)));
    }
    found
}

/// Returns the first name of a path, or of each path in a group in braces.
fn first_segments(rest: &str) -> Vec<&str> {
    let name = |text: &'_ str| text.find(|c: char| !is_word(c)).unwrap_or(text.len());
    let Some(group) = rest.strip_prefix('{') else { return vec![&rest[..name(rest)]] };
    let mut segments = Vec::new();
    let (mut depth, mut expected) = (0, true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' => expected = depth == 0,
            _ if expected && is_word(c) => {
                segments.push(&group[at..at + name(&group[at..])]);
                expected = false;
            }
            _ => {}
        }
    }
    segments
}
