//! Converts cells of a heat map to a scope: their time, and a filter of their durations and starts. It has exactly the
//! spans that the cells count.

use std::ops::RangeInclusive;

use crate::base::units::{duration_word, signed_time_text};
use crate::query::filter::{Filter, Test};
use crate::query::heat_map::HeatMapAxis;
use crate::ui::selected_scope::{SelectedScope, joined_filter};

/// Some cells of a map, as bounds that outlive the map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CellBounds {
    /// First time, and first after it; `None` for all the time of the map.
    pub(super) times_ns: Option<(i64, i64)>,
    /// Shortest and longest duration; `None` for all.
    pub(super) durations_ns: Option<(u64, u64)>,
}

impl CellBounds {
    /// Returns the scope of these cells of a map with scope `of`, combined with another filter.
    pub(super) fn scope(&self, of: &SelectedScope, more: &str, axis: &HeatMapAxis) -> SelectedScope {
        let (mut filter, mut durations, mut starts) = split_filter(&of.filter);
        filter = joined_filter(&filter, more);
        if let Some((least, most)) = self.durations_ns {
            durations = least.max(*durations.start())..=most.min(*durations.end());
        }
        let times_ns = self.times_ns.or(of.range.map(|_| (axis.start_ns(), axis.end_ns())));
        if let Some((from_ns, to_ns)) = times_ns {
            // `i64::MAX` is in the last column.
            let last_ns = if to_ns == i64::MAX { to_ns } else { to_ns - 1 };
            starts = from_ns.max(*starts.start())..=last_ns.min(*starts.end());
        }
        for word in duration_words(&durations).into_iter().chain(start_words(&starts)) {
            filter = joined_filter(&filter, &word);
        }
        let range = times_ns.filter(|&(_, to_ns)| to_ns < i64::MAX);
        SelectedScope { range: range.or(of.range), tracks: of.tracks.clone(), filter: filter.into() }
    }
}

/// Splits a filter into the part before the trailing bounds that such scopes add, and these bounds.
fn split_filter(filter: &str) -> (String, RangeInclusive<u64>, RangeInclusive<i64>) {
    let (mut rest, mut durations, mut starts) = (filter.trim_end(), 0..=u64::MAX, i64::MIN..=i64::MAX);
    // A word that ends a quoted text or an expression does not end like a time.
    while let Some(word) = rest.rsplit(char::is_whitespace).next().filter(|word| word.ends_with('s')) {
        if !(word.starts_with("dur") || word.starts_with("start")) || rest.contains(['"', '/']) && is_inside(rest, word)
        {
            break;
        }
        let Some(test) = Filter::parse(word).ok().and_then(|filter| filter.terms.into_iter().next()) else { break };
        match test.test {
            Test::Duration(range) => {
                durations = (*durations.start()).max(*range.start())..=(*durations.end()).min(*range.end());
            }
            Test::Start(test) => {
                let Some(range) = test.absolute() else { break };
                starts = (*starts.start()).max(*range.start())..=(*starts.end()).min(*range.end());
            }
            _ => break,
        }
        rest = rest[..rest.len() - word.len()].trim_end();
    }
    (rest.to_owned(), durations, starts)
}

/// Returns whether the last word of a filter is inside quotes: the text before it is then no valid filter.
fn is_inside(filter: &str, word: &str) -> bool {
    Filter::parse(&filter[..filter.len() - word.len()]).is_err()
}

fn duration_words(durations: &RangeInclusive<u64>) -> Vec<String> {
    // The longest duration that a filter accepts.
    const TYPED_MAX: u64 = i64::MAX as u64;
    let (least, most) = (*durations.start(), *durations.end());
    match (least, most) {
        _ if least == most && most <= TYPED_MAX => vec![format!("dur={}", duration_word(least))],
        _ => {
            let least = (least > 0).then(|| match least {
                TYPED_MAX.. => format!("dur>{}", duration_word(TYPED_MAX)),
                least => format!("dur>={}", duration_word(least)),
            });
            least.into_iter().chain((most <= TYPED_MAX).then(|| format!("dur<={}", duration_word(most)))).collect()
        }
    }
}

fn start_words(starts: &RangeInclusive<i64>) -> Vec<String> {
    let (first, last) = (*starts.start(), *starts.end());
    let from = (first > i64::MIN).then(|| format!("start>={}", signed_time_text(first)));
    let to = last.checked_add(1).map(|end| format!("start<{}", signed_time_text(end)));
    from.into_iter().chain(to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(filter: &str, range: Option<(i64, i64)>) -> SelectedScope {
        SelectedScope { range, filter: filter.into(), ..SelectedScope::default() }
    }

    #[test]
    fn a_cell_within_a_cell_narrows_its_bounds_instead_of_repeating_them() {
        let axis = HeatMapAxis::new(0, 1000, 10);
        let cells = CellBounds { times_ns: Some((100, 200)), durations_ns: Some((8, 15)) };
        let made = cells.scope(&of("cat:io", None), "name:/^a b$/", &axis);
        assert_eq!(&*made.filter, "cat:io name:/^a b$/ dur>=8ns dur<=15ns start>=100ns start<200ns");
        assert_eq!(made.range, Some((100, 200)));
        let finer = CellBounds { times_ns: Some((90, 120)), durations_ns: Some((12, 20)) };
        let made = finer.scope(&made, "", &HeatMapAxis::new(100, 200, 10));
        assert_eq!(&*made.filter, "cat:io name:/^a b$/ dur>=12ns dur<=15ns start>=100ns start<120ns");
        let coarse = CellBounds { times_ns: Some((1_000, 2_000_000_001)), durations_ns: Some((1_310_720, 3_670_015)) };
        let bounds = coarse.scope(&of("", None), "", &axis);
        assert_eq!(&*bounds.filter, "dur>=1.31072ms dur<=3.670015ms start>=1us start<2.000000001s");
        let shorter = CellBounds { times_ns: None, durations_ns: Some((0, 2_000_000)) };
        assert_eq!(
            &*shorter.scope(&of(&bounds.filter, None), "", &axis).filter,
            "dur>=1.31072ms dur<=2ms start>=1us start<2.000000001s"
        );
        // Quoted text is not a bound.
        let quoted = of("\"x dur>=8ns\" /y start<5ns/", None);
        assert_eq!(
            &*finer.scope(&quoted, "", &axis).filter,
            "\"x dur>=8ns\" /y start<5ns/ dur>=12ns dur<=20ns start>=90ns start<120ns"
        );
    }

    #[test]
    fn the_extremes_of_time_and_duration_have_a_filter() {
        let axis = HeatMapAxis::new(i64::MIN, i64::MAX, 2);
        let zero = CellBounds { times_ns: Some((0, i64::MAX)), durations_ns: Some((0, 0)) };
        let made = zero.scope(&SelectedScope::default(), "", &axis);
        assert_eq!((&*made.filter, made.range), ("dur=0s start>=0s", None));
        let longest = CellBounds { times_ns: Some((i64::MIN, 0)), durations_ns: Some((1 << 63, u64::MAX)) };
        let made = longest.scope(&SelectedScope::default(), "", &axis);
        assert_eq!((&*made.filter, made.range), ("dur>9223372036.854775807s start<0s", Some((i64::MIN, 0))));
        // All cells of a map have the scope of the map.
        let all = CellBounds { times_ns: None, durations_ns: None };
        assert_eq!(all.scope(&SelectedScope::default(), "", &axis), SelectedScope::default());
        let made = all.scope(&of("", Some((5, 9))), "", &HeatMapAxis::new(5, 9, 4));
        assert_eq!((&*made.filter, made.range), ("start>=5ns start<9ns", Some((5, 9))));
        for filter in ["dur=0s start>=0s", "dur>9223372036.854775807s start<0s"] {
            assert_eq!(Filter::parse(filter).map_or(0, |filter| filter.terms.len()), 2, "{filter}");
        }
    }
}
