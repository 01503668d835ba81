//! The heights of rows, in whole physical pixels.

/// The height of tracks, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
pub enum TrackDensity {
    /// The lowest rows in which names are readable.
    Compact,
    #[default]
    Normal,
    /// High rows, for screens viewed from a distance.
    Tall,
}

/// The heights of rows in whole pixels, so that rows are sharp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "each name ends with its unit")]
pub struct RowHeights {
    pub(crate) header_px: u32,
    pub(crate) span_px: u32,
    /// A lane of instants or samples.
    pub(crate) instant_px: u32,
    pub(crate) counter_px: u32,
    /// The part of a row of several counters that each adds.
    pub(crate) legend_px: u32,
    /// Free space above the first and below the last lane of a track.
    pub(crate) padding_px: u32,
    /// Minimum height of a track, so that its name fits.
    pub(crate) track_min_px: u32,
}

/// The height of a line that names a counter in a row of several.
pub(crate) const LEGEND_POINTS: f32 = 14.0;

impl RowHeights {
    /// Returns the default heights on a screen of `scale` physical pixels per point.
    #[must_use]
    pub fn at_scale(scale: f32) -> Self {
        Self::new(TrackDensity::Normal, scale)
    }

    /// Returns the heights for a density, on a screen of `scale` physical pixels per point.
    #[must_use]
    pub(crate) fn new(density: TrackDensity, scale: f32) -> Self {
        let px = |points: f32| (points * scale).round().clamp(1.0, 1000.0) as u32;
        // A header is high enough for the strip of a folded process, which takes 70 % of it.
        let [header, span, instant, counter, padding, track_min] = match density {
            TrackDensity::Compact => [22.0, 14.0, 12.0, 28.0, 1.0, 18.0],
            TrackDensity::Normal => [26.0, 19.0, 15.0, 40.0, 3.0, 24.0],
            TrackDensity::Tall => [30.0, 27.0, 19.0, 64.0, 4.0, 34.0],
        };
        Self {
            header_px: px(header),
            span_px: px(span),
            instant_px: px(instant),
            counter_px: px(counter),
            legend_px: px(LEGEND_POINTS),
            padding_px: px(padding),
            track_min_px: px(track_min),
        }
    }
}
