//! Sizes in pixels as users type them on the command line.

/// The size of a picture in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SizeArg {
    pub(crate) width_px: u32,
    pub(crate) height_px: u32,
}

/// Limit for the sides of a picture: the texture limit of the weakest supported GPU.
const PICTURE_PX_MAX: u32 = 16_384;

impl std::str::FromStr for SizeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once(['x', 'X']).ok_or("expected WIDTHxHEIGHT in pixels, such as 1920x1080")?;
        let side = |digits: &str| match digits.parse() {
            Ok(px) if (1..=PICTURE_PX_MAX).contains(&px) => Ok(px),
            _ => Err(format!("expected a side of 1 to {PICTURE_PX_MAX} pixels, found `{digits}`")),
        };
        Ok(Self { width_px: side(parts.0)?, height_px: side(parts.1)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_two_sides_that_an_adapter_can_draw() {
        assert_eq!("1920x1080".parse(), Ok(SizeArg { width_px: 1920, height_px: 1080 }));
        for text in ["1920", "0x5", "5x0", "x", "99999x1", "-1x5"] {
            assert!(text.parse::<SizeArg>().is_err(), "{text}");
        }
    }
}
