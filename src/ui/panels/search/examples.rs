//! The search terms, as links that insert them into the field.

use egui::{RichText, Ui};

use crate::ui::command::{Command, PanelCommand};
use crate::ui::theme::Theme;

/// An example of each kind of search term; see [`Filter`](crate::query::filter::Filter).
const EXAMPLES: [(&str, &str); 14] = [
    ("read", "names that have these letters, in any case"),
    ("/^read_(all|some)$/", "names that match the regular expression"),
    ("~rdall", "names that have these letters in this order"),
    ("\"a b\"", "the quoted text, taken literally"),
    ("dur>1ms", "spans that take longer; also <, <=, >=, ="),
    ("start<+2s", "starts up to 2 s after the first event; start<2s by the trace's clock"),
    ("thread:worker", "tracks by name or id; also process:, cat:"),
    ("in:RunTask", "spans inside a span of that name"),
    ("within:main/2@1500", "spans inside the one of depth 2 on main that starts at 1500 ns"),
    ("arg.url:index", "an argument that has these letters"),
    ("arg.url=/index.html", "an argument that is exactly this"),
    ("is:failed", "spans that failed, which have a red mark"),
    ("has:flow", "spans at which a flow starts, passes or ends; also has:args, has:stack"),
    ("-cat:io", "everything that cat:io does not match"),
];

/// Shows the search terms with their meanings. A click inserts the term.
pub(super) fn show_examples(ui: &mut Ui, theme: &Theme) -> Option<Command> {
    let mut chosen = None;
    // Line height of text, not of buttons.
    ui.spacing_mut().interact_size.y = ui.text_style_height(&egui::TextStyle::Body);
    ui.label("Type above what to look for. A hit matches all words.");
    egui::Grid::new("examples").num_columns(2).spacing([16.0, 2.0]).show(ui, |ui| {
        for (word, meaning) in EXAMPLES {
            if ui.link(RichText::new(word).monospace()).clicked() {
                chosen = Some(word);
            }
            ui.label(RichText::new(meaning).color(theme.weak_text));
            ui.end_row();
        }
    });
    chosen.map(|word| Command::Panel(PanelCommand::SearchFor(word.to_owned())))
}
