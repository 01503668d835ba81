// Rectangles on a canvas, one instance each, in physical pixels from the canvas's upper left corner. The layouts equal
// `gpu_data` in rects.rs; a test compares them.

struct Canvas {
    size_px: vec2<f32>,
    scale: f32,
    padding: f32,
}

@group(0) @binding(0) var<uniform> canvas: Canvas;

// The bits of a style.
const EDGE = 1u;
const TORN = 2u;
const DIAMOND = 4u;
const FAILED = 8u;

// The colours of the mark of a failure. They contrast with each other, so that the mark is visible on any span, and the
// first one contrasts with the canvas of both themes.
const MARK = vec3<f32>(0.87843, 0.12549, 0.18824);
const MARK_OUTLINE = vec3<f32>(1.0, 1.0, 1.0);

struct Corner {
    @builtin(position) position: vec4<f32>,
    @location(0) at_px: vec2<f32>,
    @location(1) @interpolate(flat) edges: vec4<f32>,
    @location(2) @interpolate(flat) color: vec4<f32>,
    @location(3) @interpolate(flat) style: u32,
}

@vertex
fn corner(
    @builtin(vertex_index) index: u32,
    @location(0) edges: vec4<f32>,
    @location(1) color: vec4<f32>,
    @location(2) style: u32,
) -> Corner {
    let at_px = vec2<f32>(
        select(edges.x, edges.z, (index & 1u) == 1u),
        select(edges.y, edges.w, (index & 2u) == 2u),
    );
    let unit = at_px / canvas.size_px * 2.0 - 1.0;
    return Corner(vec4<f32>(unit.x, -unit.y, 0.0, 1.0), at_px, edges, color, style);
}

// Returns the coverage of a pixel by a box with round corners: its edge fades over one pixel.
fn round_corners(at_px: vec2<f32>, edges: vec4<f32>, radius_px: f32) -> f32 {
    let middle = (edges.xy + edges.zw) * 0.5;
    let half_size = (edges.zw - edges.xy) * 0.5;
    let from_corner = abs(at_px - middle) - half_size + radius_px;
    let distance = length(max(from_corner, vec2<f32>(0.0))) + min(max(from_corner.x, from_corner.y), 0.0) - radius_px;
    return clamp(0.5 - distance, 0.0, 1.0);
}

// Returns the coverage of a pixel by a box whose right edge is a zigzag. It cuts at most half of a narrow box.
fn torn(at_px: vec2<f32>, edges: vec4<f32>) -> f32 {
    let tooth_px = 5.0 * canvas.scale;
    let depth_px = min(tooth_px, (edges.z - edges.x) * 0.5);
    let along = abs(fract((at_px.y - edges.y) / tooth_px) - 0.5) * 2.0;
    return clamp(edges.z - depth_px * along - at_px.x + 0.5, 0.0, 1.0);
}

// Returns the coverage of a pixel by the largest diamond inside a box.
fn diamond(at_px: vec2<f32>, edges: vec4<f32>) -> f32 {
    let middle = (edges.xy + edges.zw) * 0.5;
    let reach_px = min(edges.z - edges.x, edges.w - edges.y) * 0.5;
    let from_middle = abs(at_px - middle);
    // 0.7071 is the root of 1/2: it converts the sum of both distances to the distance from the edge.
    return clamp((reach_px - from_middle.x - from_middle.y) * 0.7071 + 0.5, 0.0, 1.0);
}

// Returns the distance in pixels from the edge of the mark of a failure, negative inside: a bar at the top, and a
// triangle in the upper left corner of a box that has room for it.
fn beyond_mark_px(at_px: vec2<f32>, edges: vec4<f32>) -> f32 {
    let size_px = edges.zw - edges.xy;
    let from_corner = at_px - edges.xy;
    let bar_px = min(3.0 * canvas.scale, size_px.y * 0.3);
    let leg_px = min(10.0 * canvas.scale, size_px.y * 0.7);
    let corner_px = (from_corner.x + from_corner.y - leg_px) * 0.7071;
    return min(from_corner.y - bar_px, select(1e6, corner_px, size_px.x >= 2.0 * leg_px));
}

@fragment
fn pixel(in: Corner) -> @location(0) vec4<f32> {
    var color = in.color.rgb;
    var opacity = in.color.a;
    if (in.style & EDGE) != 0u {
        let line_px = max(1.0, floor(canvas.scale));
        opacity *= round_corners(in.at_px, in.edges, 2.0 * canvas.scale);
        // Darker only at the right and the bottom, so that neighbours share one line.
        let to_edge = min(in.edges.z - in.at_px.x, in.edges.w - in.at_px.y);
        color *= select(1.0, 0.72, to_edge < line_px);
    }
    if (in.style & FAILED) != 0u {
        let beyond_px = beyond_mark_px(in.at_px, in.edges);
        let outline_px = max(1.0, floor(canvas.scale));
        color = mix(color, MARK_OUTLINE, clamp(outline_px + 0.5 - beyond_px, 0.0, 1.0));
        color = mix(color, MARK, clamp(0.5 - beyond_px, 0.0, 1.0));
    }
    if (in.style & TORN) != 0u {
        opacity *= torn(in.at_px, in.edges);
    }
    if (in.style & DIAMOND) != 0u {
        opacity *= diamond(in.at_px, in.edges);
    }
    return vec4<f32>(color * opacity, opacity);
}
