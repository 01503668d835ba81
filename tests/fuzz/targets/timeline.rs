//! The saved state of a timeline: arbitrary bytes that parse as a state can be restored on another trace, with any
//! tracks, times and bookmarks. The state that is then saved is read back the same.

use std::sync::LazyLock;

use longspan::facade::frame::RectBudget;
use longspan::facade::query::Snapshot;
use longspan::facade::scene::color::Shade;
use longspan::facade::ui::settings::Navigation;
use longspan::facade::ui::theme::Theme;
use longspan::facade::ui::timeline::Timeline;
use longspan::facade::ui::timeline::saved::SavedTimeline;

use super::reading::file_of;
use super::rows::load;

/// Two tracks of one process.
static SNAPSHOT: LazyLock<Snapshot> = LazyLock::new(|| {
    let file = file_of(br#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":9},{"ph":"i","pid":1,"tid":2,"ts":5}]"#);
    load(file.path(), 1, 1 << 20).expect("a trace")
});

pub(super) fn check(bytes: &[u8]) {
    let Ok(saved) = serde_json::from_slice::<SavedTimeline>(bytes) else { return };
    let theme = Theme::new(Shade::Dark);
    let mut timeline = Timeline::new(SNAPSHOT.clone(), RectBudget::SOFTWARE, &theme, Navigation::default());
    timeline.restore(saved);
    let again = timeline.to_saved();
    let json = serde_json::to_vec(&again).expect("JSON");
    assert_eq!(serde_json::from_slice::<SavedTimeline>(&json).expect("a state"), again);
}
