//! Positions of labels on the ruler, which must not cover each other.

use egui::{Rangef, Rect, vec2};

/// Gap between two labels, in points.
const GAP_POINTS: f32 = 4.0;

/// Moves a label sideways within the ruler, as little as possible, so that it covers none of the others. If there is no
/// room, it covers some.
pub(super) fn beside_others(label: Rect, ruler: Rect, others: &[Rect]) -> Rect {
    let width = label.width();
    let clamped = |left: f32, within: Rangef| left.clamp(within.min, (within.max - width).max(within.min));
    let mut taken: Vec<Rangef> = others.iter().map(|other| other.x_range().expand(GAP_POINTS)).collect();
    taken.sort_by(|a, b| a.min.total_cmp(&b.min));
    let mut free = Vec::new();
    let mut from = ruler.left();
    for range in taken {
        free.push(Rangef::new(from, range.min.min(ruler.right())));
        from = from.max(range.max);
    }
    free.push(Rangef::new(from, ruler.right()));
    let fits = free.into_iter().filter(|free| free.max - free.min >= width);
    let lefts = fits.map(|free| clamped(label.left(), free));
    let nearest = lefts.min_by(|a, b| (a - label.left()).abs().total_cmp(&(b - label.left()).abs()));
    let left = nearest.unwrap_or_else(|| clamped(label.left(), ruler.x_range()));
    label.translate(vec2(left - label.left(), 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(left: f32, right: f32) -> Rect {
        Rect::from_x_y_ranges(left..=right, 0.0..=10.0)
    }

    #[test]
    fn a_label_moves_to_the_nearest_gap_that_has_room_for_it() {
        let ruler = span(0.0, 1000.0);
        let placed = |label: Rect, others: &[Rect]| beside_others(label, ruler, others).left();
        assert_eq!(placed(span(100.0, 200.0), &[]), 100.0);
        assert_eq!(placed(span(-50.0, 50.0), &[]), 0.0, "within the ruler");
        assert_eq!(placed(span(950.0, 1050.0), &[]), 900.0);
        assert_eq!(placed(span(100.0, 200.0), &[span(190.0, 300.0)]), 86.0, "to the left");
        assert_eq!(placed(span(200.0, 300.0), &[span(190.0, 210.0)]), 214.0, "to the right");
        let narrow_gap = [span(300.0, 400.0), span(100.0, 250.0)];
        assert_eq!(placed(span(230.0, 330.0), &narrow_gap), 404.0, "the gap of 50 has no room");
        assert_eq!(placed(span(40.0, 140.0), &[span(0.0, 1000.0)]), 40.0, "no room at all");
    }

    #[test]
    fn labels_placed_one_after_the_other_do_not_overlap() {
        let ruler = span(0.0, 1000.0);
        let mut placed: Vec<Rect> = Vec::new();
        for number in 0..8_u16 {
            let left = f32::from(number * 337 % 900);
            let label = beside_others(span(left, left + 80.0), ruler, &placed);
            assert!(placed.iter().all(|other| !other.x_range().intersects(label.x_range())), "{placed:?} {label:?}");
            placed.push(label);
        }
    }
}
