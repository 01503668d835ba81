//! The pixels of the screen, read from the memory of the X server; colours and areas on it.

use std::fs;
use std::path::Path;

use longspan::facade::scene::color::Shade;
use longspan::facade::scene::palette::Palette;

/// Red, green and blue.
pub(crate) type Color = [u8; 3];

/// Colours of the dark theme that tests search for, as in `ui::theme`.
pub(crate) const CANVAS: Color = [0x16, 0x18, 0x1d];
pub(crate) const BUTTON: Color = [0x2a, 0x2f, 0x38];
/// Titles of error messages.
pub(crate) const ERROR: Color = [0xf2, 0x6d, 0x6d];
/// The outline of the selected span.
pub(crate) const SELECTION: Color = [0xff, 0xff, 0xff];

/// Returns the colour of spans of a name.
pub(crate) fn span_color(name: &str) -> Color {
    let [red, green, blue, _] = Palette::new(Shade::Dark).hashed_color(name).0;
    [red, green, blue]
}

/// An area of the screen, in pixels. `right` and `bottom` are exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rect {
    pub left: usize,
    pub top: usize,
    pub right: usize,
    pub bottom: usize,
}

impl Rect {
    pub(crate) fn middle(self) -> (usize, usize) {
        (usize::midpoint(self.left, self.right), usize::midpoint(self.top, self.bottom))
    }

    pub(crate) fn width(self) -> usize {
        self.right - self.left
    }

    pub(crate) fn height(self) -> usize {
        self.bottom - self.top
    }
}

/// The whole screen, in the format of the X server, since tests read few of its pixels.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Screenshot {
    pub width: usize,
    pub height: usize,
    line_bytes: usize,
    /// Offset of the first pixel.
    start: usize,
    bytes: Vec<u8>,
}

impl Screenshot {
    /// Reads the screen file of the X server: an XWD file of 32-bit pixels, blue first.
    pub(crate) fn of_screen(path: &Path) -> Option<Self> {
        let bytes = fs::read(path).ok()?;
        let word = |index: usize| {
            let at = bytes.get(4 * index..4 * index + 4)?;
            Some(u32::from_be_bytes(at.try_into().ok()?) as usize)
        };
        // The header is followed by the colour table, with entries of 12 bytes.
        let start = word(0)? + 12 * word(19)?;
        let (width, height, line_bytes) = (word(4)?, word(5)?, word(12)?);
        (bytes.len() >= start + height * line_bytes).then_some(())?;
        Some(Self { width, height, line_bytes, start, bytes })
    }

    /// Reads a PPM image with 8 bits per colour.
    pub(crate) fn of_ppm(bytes: &[u8]) -> Option<Self> {
        let mut words = bytes.splitn(4, u8::is_ascii_whitespace);
        let mut number = || std::str::from_utf8(words.next()?).ok()?.parse().ok();
        let (width, height): (usize, usize) = match bytes.first_chunk()? {
            b"P6" => {
                number();
                (number()?, number()?)
            }
            _ => return None,
        };
        let pixels = words.next()?.strip_prefix(b"255\n")?;
        let bytes: Vec<u8> = pixels.chunks_exact(3).flat_map(|pixel| [pixel[2], pixel[1], pixel[0], 0]).collect();
        (bytes.len() == 4 * width * height).then_some(Self { width, height, line_bytes: 4 * width, start: 0, bytes })
    }

    pub(crate) fn at(&self, x: usize, y: usize) -> Color {
        let at = self.start + y * self.line_bytes + 4 * x;
        [self.bytes[at + 2], self.bytes[at + 1], self.bytes[at]]
    }

    pub(crate) fn whole(&self) -> Rect {
        Rect { left: 0, top: 0, right: self.width, bottom: self.height }
    }

    /// Returns the bounding box of all pixels of exactly this colour.
    pub(crate) fn find(&self, color: Color) -> Option<Rect> {
        self.find_in(self.whole(), color)
    }

    /// Like [`Self::find`], within a part of the screen.
    pub(crate) fn find_in(&self, part: Rect, color: Color) -> Option<Rect> {
        let mut found: Option<Rect> = None;
        let [red, green, blue] = color;
        for y in part.top..part.bottom.min(self.height) {
            let line = self.start + y * self.line_bytes;
            let line = &self.bytes[line + 4 * part.left..line + 4 * part.right.min(self.width)];
            let has = |pixel: &[u8]| pixel.starts_with(&[blue, green, red]);
            let Some(first) = line.chunks_exact(4).position(has) else { continue };
            let last = line.chunks_exact(4).rposition(has).unwrap_or(first);
            let (left, right) = (part.left + first, part.left + last + 1);
            let bounds = found.get_or_insert(Rect { left, top: y, right, bottom: y + 1 });
            bounds.left = bounds.left.min(left);
            bounds.right = bounds.right.max(right);
            bounds.bottom = y + 1;
        }
        found
    }

    /// Like [`Self::find_in`], but for areas: a single pixel may have a colour by chance, as a mix of others.
    pub(crate) fn find_area(&self, part: Rect, color: Color) -> Option<Rect> {
        /// Smaller than the area above the text of a button.
        const AREA: (usize, usize) = (12, 3);
        let mut found: Option<Rect> = None;
        for y in part.top..part.bottom - AREA.1 {
            for x in part.left..part.right - AREA.0 {
                let mut area = (y..y + AREA.1).flat_map(|y| (x..x + AREA.0).map(move |x| (x, y)));
                if area.all(|(x, y)| self.at(x, y) == color) {
                    let bounds = found.get_or_insert(Rect { left: x, top: y, right: x, bottom: y });
                    bounds.left = bounds.left.min(x);
                    bounds.right = bounds.right.max(x + AREA.0);
                    bounds.bottom = y + AREA.1;
                }
            }
        }
        found
    }

    /// Returns whether another image differs in a part of the screen.
    pub(crate) fn differs(&self, other: &Self, part: Rect) -> bool {
        (part.top..part.bottom).any(|y| (part.left..part.right).any(|x| self.at(x, y) != other.at(x, y)))
    }

    pub(crate) fn count(&self, color: Color) -> usize {
        self.pixels().filter(|&pixel| pixel == color).count()
    }

    fn pixels(&self) -> impl Iterator<Item = Color> {
        (0..self.height).flat_map(move |y| (0..self.width).map(move |x| self.at(x, y)))
    }

    /// Writes the image to a file, to analyse a failure.
    pub(crate) fn save(&self, path: &Path) {
        let file = fs::File::create(path).expect("the folder for screenshots is writable");
        let mut encoder = png::Encoder::new(file, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header().expect("an image");
        writer.write_image_data(&self.pixels().flatten().collect::<Vec<_>>()).expect("an image");
    }
}
