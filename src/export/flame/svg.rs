//! Draws an SVG without scripts or external resources: bars by depth, the roots at the bottom as in other flame graphs,
//! with a tooltip each. Bars too narrow to see and levels too deep to draw are left out, with a note of their
//! number.

use std::hash::BuildHasher;
use std::io::{self, Write};

use rustc_hash::FxBuildHasher;

use super::FlameGraph;
use crate::base::escape::escaped;
use crate::model::names::NO_NAME;
use crate::query::flame::FlameNodeIdx;

/// Width of the picture in pixels, like all following lengths.
const WIDTH: f64 = 1200.0;
/// Margin at the sides and below the bars.
const MARGIN: f64 = 10.0;
/// Height of the title and the note above the bars.
const HEADER: f64 = 42.0;
/// Height of a level: a bar, and a gap of one pixel.
const LEVEL: f64 = 17.0;
/// Narrower bars are left out, which bounds the bars per level.
const BAR_MIN: f64 = 0.1;
/// Deeper levels are left out: browsers do not draw much higher pictures.
const LEVELS_MAX: usize = 1024;
/// Approximate width of a letter of 12 pixels.
const LETTER: f64 = 7.0;

struct SvgBar {
    node: FlameNodeIdx,
    level: usize,
    left: f64,
    width: f64,
}

/// Writes the picture. Returns the I/O error of `out`.
pub(crate) fn write_svg(graph: &FlameGraph<'_>, out: &mut dyn Write) -> io::Result<()> {
    let nodes = graph.nodes();
    let whole = graph.weights(&nodes[0]).0;
    let scale = if whole == 0 { 0.0 } else { (WIDTH - 2.0 * MARGIN) / whole as f64 };
    let width = |node: FlameNodeIdx| graph.weights(&nodes[node.index()]).0 as f64 * scale;
    let (mut bars, mut narrow, mut deep) = (Vec::new(), 0_u64, 0_u64);
    let root = SvgBar { node: FlameNodeIdx::ROOT, level: 0, left: MARGIN, width: WIDTH - 2.0 * MARGIN };
    let mut waiting = vec![root];
    while let Some(bar) = waiting.pop() {
        let children = graph.picture.tree.children(bar.node);
        // Totals stop at 2^64 - 1, so the totals of children may add up to more than the total of their parent.
        let of_children: f64 = children.iter().map(|&child| width(child)).sum();
        let fit = if of_children > bar.width { bar.width / of_children } else { 1.0 };
        let mut left = bar.left;
        for &child in children {
            let width = width(child) * fit;
            if width < BAR_MIN {
                narrow += 1;
            } else if bar.level + 1 >= LEVELS_MAX {
                deep += 1;
            } else {
                waiting.push(SvgBar { node: child, level: bar.level + 1, left, width });
            }
            left += width;
        }
        bars.push(bar);
    }
    let levels = bars.iter().map(|bar| bar.level + 1).max().unwrap_or(1);
    let height = HEADER + levels as f64 * LEVEL + MARGIN;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <style>g:hover rect{{stroke:#000}}text{{pointer-events:none}}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#f8f8f4\"/>"
    )?;
    let left_out = left_out(narrow, deep);
    let notes = [left_out, graph.folded_text().unwrap_or_default(), pruned(graph, scale, whole)];
    let notes: Vec<String> = notes.into_iter().filter(|it| !it.is_empty()).collect();
    let (title, note) = (title(graph), notes.join("; "));
    let middle = WIDTH / 2.0;
    writeln!(out, "<text x=\"{middle}\" y=\"20\" text-anchor=\"middle\" font-size=\"15\">{}</text>", xml(&title))?;
    writeln!(out, "<text x=\"{middle}\" y=\"36\" text-anchor=\"middle\" fill=\"#666\">{}</text>", xml(&note))?;
    for bar in &bars {
        let top = HEADER + (levels - 1 - bar.level) as f64 * LEVEL;
        write_bar(graph, bar, top, out)?;
    }
    writeln!(out, "</svg>")
}

fn write_bar(graph: &FlameGraph<'_>, bar: &SvgBar, top: f64, out: &mut dyn Write) -> io::Result<()> {
    let nodes = graph.nodes();
    let node = &nodes[bar.node.index()];
    let name = match graph.text(node) {
        _ if bar.node == FlameNodeIdx::ROOT => "all",
        "" => NO_NAME,
        name => name,
    };
    let (whole, (total, own_weight)) = (graph.weights(&nodes[0]).0, graph.weights(node));
    let percent = if whole == 0 { 0.0 } else { 100.0 * total as f64 / whole as f64 };
    let (total, own_weight) = (graph.weight_text(total), graph.weight_text(own_weight));
    let tooltip = format!("{name}: {total}, {percent:.2} %, self {own_weight}");
    let (left, width, color) = (bar.left, bar.width, color(name, bar.node));
    write!(
        out,
        "<g><title>{}</title><rect x=\"{left:.2}\" y=\"{top}\" width=\"{width:.2}\" height=\"{}\" rx=\"1\" \
         fill=\"{color}\"/>",
        xml(&tooltip),
        LEVEL - 1.0
    )?;
    let letters = ((width - 6.0) / LETTER).max(0.0) as usize;
    if letters >= 3 {
        let shown = escaped(name);
        let is_cut = shown.chars().count() > letters;
        let text: String = shown.chars().take(if is_cut { letters - 2 } else { letters }).collect();
        let dots = if is_cut { ".." } else { "" };
        write!(out, "<text x=\"{:.2}\" y=\"{}\">{}{dots}</text>", left + 3.0, top + 12.0, xml(&text))?;
    }
    out.write_all(b"</g>\n")
}

/// Returns a warm colour by name, the same in every picture.
fn color(name: &str, node: FlameNodeIdx) -> String {
    if node == FlameNodeIdx::ROOT {
        return "#d8d8d0".to_owned();
    }
    let hash = FxBuildHasher.hash_one(name);
    let part = |shift: u32, least: u64, span: u64| least + (hash >> shift & 0xff) * span / 0xff;
    format!("rgb({},{},{})", part(40, 215, 35), part(24, 120, 110), part(8, 60, 40))
}

fn title(graph: &FlameGraph<'_>) -> String {
    let FlameGraph { event, things, is_inverted, .. } = *graph;
    let root = &graph.nodes()[0];
    // A line of collapsed stacks counts as the samples that it represents.
    let count = if graph.unit == things { graph.weights(root).0 } else { root.total.samples };
    let count = crate::base::time::grouped_digits(count);
    let event = if event.is_empty() { String::new() } else { format!(" of {event}") };
    let total =
        if graph.unit == things { String::new() } else { format!(", {}", graph.weight_text(graph.weights(root).0)) };
    let callers = if is_inverted { ", by callers" } else { "" };
    format!("{count} {things}{event}{total}{callers}")
}

/// Describes the bars that are left out.
fn left_out(narrow: u64, deep: u64) -> String {
    let bars = |count: u64, place: String| {
        let (ending, are) = if count == 1 { ("", "is") } else { ("s", "are") };
        (count > 0).then(|| format!("{count} bar{ending} below {place} {are} left out"))
    };
    let parts = [bars(narrow, format!("{BAR_MIN} pixels")), bars(deep, format!("level {LEVELS_MAX}"))];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Describes small paths without bars of their own; empty without any. `scale` is in pixels per unit of weight.
fn pruned(graph: &FlameGraph, scale: f64, whole: u64) -> String {
    let FlameGraph { picture, measure, missing, .. } = graph;
    if missing.is_empty() {
        String::new()
    } else if picture.is_path_by_path {
        let lacks = measure.amount(*missing) as f64 * scale;
        format!("small paths are [others]: no bar lacks more than {lacks:.2} pixels")
    } else {
        let part = 100.0 * measure.amount(picture.others) as f64 / whole.max(1) as f64;
        format!("small paths, {part:.2} % of all, are [others]")
    }
}

/// Escapes text for XML, which has neither control characters nor U+FFFE and U+FFFF.
fn xml(text: &str) -> String {
    let text = text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    escaped(&text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_that_are_left_out_are_counted_in_full_sentences() {
        assert_eq!(left_out(0, 0), "");
        assert_eq!(left_out(0, 1), "1 bar below level 1024 is left out");
        assert_eq!(left_out(1, 2), "1 bar below 0.1 pixels is left out; 2 bars below level 1024 are left out");
    }
}
