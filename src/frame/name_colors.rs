//! The colours of the names in a lane: a colour is derived from the text of a name, and a lane has thousands of
//! rectangles of a few names.

use std::cell::Cell;

use crate::model::NameIdx;
use crate::scene::color::Rgba;

/// The last used colours of names, by index.
pub(super) struct NameColors([Cell<Option<(NameIdx, Rgba)>>; Self::SLOTS]);

impl NameColors {
    /// Names with equal indices modulo this replace each other. All slots take less than a kilobyte.
    const SLOTS: usize = 64;

    pub(super) fn new() -> Self {
        Self([const { Cell::new(None) }; Self::SLOTS])
    }

    /// Returns the colour of a name, from `compute` unless it is cached. `compute` depends on the name only.
    pub(super) fn get(&self, name: NameIdx, compute: impl FnOnce() -> Rgba) -> Rgba {
        let slot = &self.0[name.index() % Self::SLOTS];
        let known = slot.get().filter(|(known, _)| *known == name);
        known.map_or_else(
            || {
                let color = compute();
                slot.set(Some((name, color)));
                color
            },
            |(_, color)| color,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_of_a_lane_has_its_own_colour_which_is_computed_once() {
        let (colors, computed) = (NameColors::new(), Cell::new(0));
        let color_of = |name: u32| {
            colors.get(NameIdx(name), || {
                computed.set(computed.get() + 1);
                Rgba(name.to_le_bytes())
            })
        };
        for run in 0..2000 {
            assert_eq!(color_of(run % 50), Rgba((run % 50).to_le_bytes()));
        }
        assert_eq!(computed.get(), 50);
        // Two names of one slot are computed again, and never mixed up.
        let shared = [3, 3 + NameColors::SLOTS as u32];
        assert_eq!(
            [0, 1, 0].map(|index: usize| color_of(shared[index])),
            [0, 1, 0].map(|index: usize| Rgba(shared[index].to_le_bytes()))
        );
        assert_eq!(computed.get(), 52);
    }
}
