//! The details of the selected row: its times, its position, its arguments, its parents and children.

mod facts;
mod sample_value;
mod values;

use egui::{RichText, ScrollArea, Ui};
use serde_json::Value as Json;

use super::elided::elided;
use super::number::TableNumber;
use super::value_menu::{self, PanelValue};
use crate::base::time::{grouped_digits, signed_interval_text, utc_clock_text, utc_day_text};
use crate::model::{Id, NameIdx, Process, ProcessIdx, StackIdx, Track};
use crate::query::cursor::LaneCursor;
use crate::query::describe::trace_filter;
use crate::query::drawn_unit::DrawnUnit;
use crate::query::flow_chain::{FlowChain, FlowLink};
use crate::query::overlay::FrameLine;
use crate::query::{Description, Snapshot, family};
use crate::scene::labels::shown_name;
use crate::scene::titles::{distinct_title, process_title, track_title};
use crate::store::lane::{LaneKind, RowIdx};
use crate::ui::command::{AppCommand, Command, PanelCommand, TimelineCommand};
use crate::ui::questions::SampledFunction;
use crate::ui::theme::Theme;
use crate::ui::timeline::ruler_clock::RulerClock;
use crate::ui::timeline::sampling::sampling_text;
use crate::ui::widgets::context_menu::context_menu;
use crate::ui::widgets::field::FIELD_BYTES_MAX;
use crate::ui::widgets::reading_order::on_screen;
use crate::ui::widgets::tip_text::tip_text;
use sample_value::SampleValue;
use values::{show_arguments, show_raw};

/// Maximum number of children listed.
const CHILDREN_MAX: usize = 12;

/// Below this width the panel has one column.
const COLUMNS_POINTS: f32 = 600.0;

/// Maximum number of functions listed of a call stack.
const FRAMES_MAX: usize = 100;

/// Maximum number of flows listed per direction.
const LINKS_MAX: usize = 50;

/// The details of the selected row, computed once when it is selected.
pub(crate) struct DetailsPanel {
    row: RowIdx,
    name: NameIdx,
    description: Description,
    kind: LaneKind,
    /// The value, if the row is a sample of a counter.
    sample: Option<SampleValue>,
    /// The unit of the bars of the track.
    unit: DrawnUnit,
    /// Whether the row is named by a frame, whose category is its module.
    is_frame: bool,
    /// The samples of a bar.
    sampling: Option<String>,
    /// The name and id of the track; its title if it has no name.
    track_text: String,
    /// The name and id of the process; its title if it has no name. Empty without a process.
    process_text: String,
    arguments: Result<Option<Json>, String>,
    /// The filter that matches the spans of the row's distributed trace, if the row belongs to one.
    trace_filter: Option<String>,
    /// Names and rows, outermost first.
    ancestors: Vec<(String, RowIdx)>,
    /// The parent span and its duration.
    parent: Option<(String, u64)>,
    /// The longest children, longest first.
    children: Vec<Child>,
    flows: Option<SpanFlows>,
    /// The functions at the address of a frame with their source lines, innermost first.
    lines: Vec<String>,
    /// The innermost function of the sample.
    function: Option<SampledFunction>,
    /// The functions of the sample's call stack, innermost first; the last line may be the number of the others.
    stack: Vec<String>,
    utc_offset_ns: Option<i64>,
}

/// A child of the span.
struct Child {
    name: String,
    row: RowIdx,
    dur_ns: u64,
    /// The part of its duration that is inside the span.
    inside_ns: u64,
}

/// The flows of the row: the span at the other end with its track.
struct SpanFlows {
    woken_by: Option<(String, RowIdx)>,
    /// The CPU run of a state, or the state of a run.
    same_run: Option<(String, RowIdx)>,
    arriving: FlowEnds,
    leaving: FlowEnds,
    is_cut: bool,
}

/// The first flows of one direction with their delays, and the number of the others.
struct FlowEnds {
    first: Vec<(String, RowIdx)>,
    hidden: usize,
}

impl DetailsPanel {
    /// Looks up everything about a row; `None` if there is no such row.
    #[must_use]
    pub(crate) fn from_row(snapshot: &Snapshot, row: RowIdx) -> Option<Self> {
        let mut description = crate::query::describe::describe(snapshot, row)?;
        let sample = SampleValue::from_row(snapshot, row);
        if sample.is_some() {
            description.name = track_title(snapshot.track(description.track)).0;
        }
        let arguments = match description.args_json.as_str() {
            "" => Ok(None),
            text => serde_json::from_str(text).map(Some).map_err(|error| error.to_string()),
        };
        let ancestors = description
            .ancestors
            .iter()
            .map(|&row| (named(snapshot.names().get(snapshot.row(row).name).text), row))
            .collect();
        let kind = snapshot.lane(row.lane).kind;
        let parent = description.ancestors.last().map(|&parent| {
            let span = snapshot.row(parent);
            (named(snapshot.names().get(span.name).text), span.dur_ns)
        });
        let end_ns = snapshot.row(row).end_ns();
        let children = family::longest_children(snapshot, row, CHILDREN_MAX).into_iter().map(|child| {
            let span = snapshot.row(child);
            let inside_ns = span.end_ns().min(end_ns).abs_diff(span.start_ns);
            Child { name: named(snapshot.names().get(span.name).text), row: child, dur_ns: span.dur_ns, inside_ns }
        });
        let children = children.collect();
        let track = snapshot.track(description.track);
        let process = named_process(snapshot, track.process);
        let utc_offset_ns = snapshot.utc_offset_ns();
        let trace_filter = trace_filter(&description.args_json).filter(|filter| filter.len() <= FIELD_BYTES_MAX);
        Some(Self {
            row,
            name: snapshot.row(row).name,
            unit: snapshot.drawn_unit(description.track),
            description,
            kind,
            sample,
            is_frame: is_frame(snapshot, row),
            sampling: sampling_text(snapshot, row),
            track_text: track_text(track),
            process_text: process.map(process_text).unwrap_or_default(),
            arguments,
            trace_filter,
            ancestors,
            parent,
            children,
            flows: None,
            lines: source_lines(snapshot, row),
            function: SampledFunction::from_row(snapshot, row),
            stack: stack_of(snapshot, row).map(|stack| function_names(snapshot, stack)).unwrap_or_default(),
            utc_offset_ns,
        })
    }

    /// Sets the flows of the row.
    pub(crate) fn set_flows(&mut self, snapshot: &Snapshot, chain: &FlowChain) {
        let process_of = |row: RowIdx| snapshot.track(snapshot.lane(row.lane).track).process;
        let own_process = process_of(self.row);
        let other_end = |other: RowIdx| {
            let track = distinct_title(snapshot, snapshot.lane(other.lane).track);
            let name = named(snapshot.names().get(snapshot.row(other).name).text);
            // Each process may have a track of this title, unless the title is the name of the process.
            let process = named_process(snapshot, process_of(other))
                .filter(|process| process_of(other) != own_process && *process.name != *track);
            let of = process.map(|process| format!(" of {}", named(&process_title(process)))).unwrap_or_default();
            (format!("{name}  ·  {track}{of}"), other)
        };
        let delayed = |&(link, other): &(FlowLink, RowIdx)| {
            let (text, row) = other_end(other);
            // A long name is cut at its end.
            (format!("{}  {text}", signed_interval_text(link.from_ns, link.to_ns)), row)
        };
        let ends_of = |links: Vec<(FlowLink, RowIdx)>| FlowEnds {
            first: links.iter().take(LINKS_MAX).map(delayed).collect(),
            hidden: links.len().saturating_sub(LINKS_MAX),
        };
        self.flows = Some(SpanFlows {
            woken_by: chain.waking.map(|link| other_end(link.from)),
            same_run: chain.same_run.map(other_end),
            arriving: ends_of(chain.incoming(self.row).map(|link| (*link, link.from)).collect()),
            leaving: ends_of(chain.outgoing(self.row).map(|link| (*link, link.to)).collect()),
            is_cut: chain.is_cut,
        });
    }

    /// Returns the row that the panel describes.
    #[must_use]
    pub(crate) fn row(&self) -> RowIdx {
        self.row
    }

    /// Shows facts, arguments and related spans side by side, or below each other in a narrow panel.
    pub(crate) fn show(&self, ui: &mut Ui, theme: &Theme, clock: RulerClock) -> Vec<Command> {
        let mut commands = Vec::new();
        ui.add_space(4.0);
        ui.horizontal(|ui| {
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if ui.button("Close").on_hover_text("Esc").clicked() {
                    commands.push(TimelineCommand::Select(None).into());
                }
                if ui.button("Copy").on_hover_text("Name, times and arguments as text: Ctrl + C").clicked() {
                    commands.push(AppCommand::CopySpan.into());
                }
                if let Some(filter) = &self.trace_filter
                    && ui
                        .button("Spans of this trace")
                        .on_hover_text("Searches for the spans of its trace id")
                        .clicked()
                {
                    commands.push(PanelCommand::SearchFor(filter.clone()).into());
                }
                if ui.button("Zoom to selection").on_hover_text("Double click on the span").clicked() {
                    commands.push(TimelineCommand::ZoomToSpan.into());
                }
                ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                    self.show_name(ui, theme, &mut commands);
                });
            });
        });
        ui.add_space(2.0);
        if ui.available_width() < COLUMNS_POINTS {
            scrolled(ui, "all", |ui| {
                self.show_facts(ui, theme, clock, &mut commands);
                ui.add_space(4.0);
                self.show_arguments(ui, theme, &mut commands);
                ui.add_space(4.0);
                commands.extend(self.show_around(ui, theme));
            });
            return commands;
        }
        ui.columns(3, |columns| {
            let [facts, arguments, around] = columns else { return };
            scrolled(facts, "facts", |ui| self.show_facts(ui, theme, clock, &mut commands));
            scrolled(arguments, "arguments", |ui| self.show_arguments(ui, theme, &mut commands));
            scrolled(around, "around", |ui| commands.extend(self.show_around(ui, theme)));
        });
        commands
    }

    /// Shows the name and the state on one line; a long name is complete in the tooltip.
    fn show_name(&self, ui: &mut Ui, theme: &Theme, commands: &mut Vec<Command>) {
        let Description { name, failed, unfinished, .. } = &self.description;
        let states = [
            (failed, "Failed", theme.error, "As recorded. The filter is:failed finds such spans"),
            (unfinished, "unfinished", theme.warning, "Its end is not in the trace"),
        ];
        let states: Vec<_> = states
            .into_iter()
            .filter(|(is_so, ..)| **is_so)
            .map(|(_, text, color, hint)| {
                let text = egui::WidgetText::from(RichText::new(text).color(color));
                let wrap = Some(egui::TextWrapMode::Extend);
                (text.into_galley(ui, wrap, f32::INFINITY, egui::TextStyle::Body), hint)
            })
            .collect();
        let states_points: f32 = states.iter().map(|(galley, _)| galley.size().x + ui.spacing().item_spacing.x).sum();
        let points = (ui.available_width() - states_points).max(0.0);
        let font = egui::FontId::proportional(15.0);
        let whole = named(name);
        let short = elided(ui.painter(), &whole, points, &font).into_owned();
        let label = egui::Label::new(RichText::new(&short).font(font).strong()).sense(egui::Sense::click());
        let response = ui.add(label.extend());
        let response = if short == whole { response } else { response.on_hover_text(tip_text(name)) };
        let value = match self.sample {
            Some(_) => PanelValue::new(&**name),
            None => PanelValue::from_name(name, self.name).with_function(self.function.clone()),
        };
        context_menu(&response).show(|ui| commands.extend(value_menu::show(ui, &value)));
        for (galley, hint) in states {
            ui.label(galley).on_hover_text(hint);
        }
    }

    /// Returns the end of a span; `None` for a row without a known end.
    fn end_ns(&self) -> Option<i64> {
        let has_end = self.kind == LaneKind::Spans && !self.description.unfinished;
        has_end.then(|| self.description.start_ns.saturating_add_unsigned(self.description.dur_ns))
    }

    /// Returns the UTC date and time of the start.
    fn utc_text(&self) -> Option<String> {
        let utc_ns = self.description.start_ns.saturating_add(self.utc_offset_ns?);
        Some(format!("{} {}", utc_day_text(utc_ns), utc_clock_text(utc_ns, 9)))
    }

    fn show_arguments(&self, ui: &mut Ui, theme: &Theme, commands: &mut Vec<Command>) {
        // Bars of samples are derived, so they never have arguments.
        if self.is_frame && self.kind == LaneKind::Spans {
            return;
        }
        heading(ui, theme, "Arguments");
        match &self.arguments {
            Ok(None) => {
                ui.label(RichText::new("None").color(theme.weak_text));
            }
            Ok(Some(args)) => show_arguments(ui, theme, args, commands),
            Err(error) => {
                ui.label(RichText::new(format!("Not readable as JSON: {error}")).color(theme.error));
                show_raw(ui, theme, &self.description.args_json);
            }
        }
    }

    fn show_around(&self, ui: &mut Ui, theme: &Theme) -> Vec<Command> {
        let mut commands = Vec::new();
        let mut link = |ui: &mut Ui, text: &str, row: RowIdx| {
            ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Truncate);
            if ui.link(text).on_hover_text(tip_text(text)).clicked() {
                commands.push(TimelineCommand::Reveal(row).into());
            }
        };
        if let Some(flows) = &self.flows {
            for (title, end) in [("Woken by", &flows.woken_by), ("Same run", &flows.same_run)] {
                if let Some((text, row)) = end {
                    heading(ui, theme, title);
                    link(ui, text, *row);
                }
            }
            for (title, ends) in [("Incoming flows", &flows.arriving), ("Outgoing flows", &flows.leaving)] {
                if !ends.first.is_empty() {
                    heading(ui, theme, title);
                    ends.first.iter().for_each(|(text, row)| link(ui, text, *row));
                }
                if ends.hidden > 0 {
                    let more = format!("and {} more", grouped_digits(ends.hidden as u64));
                    ui.label(RichText::new(more).color(theme.weak_text));
                }
            }
            if flows.is_cut {
                ui.label(RichText::new("Not all of the chain is shown: it is very long").color(theme.weak_text));
            }
        }
        if !self.stack.is_empty() {
            heading(ui, theme, "Call stack");
            for function in &self.stack {
                ui.add(egui::Label::new(named(function)).truncate());
            }
        }
        if let Some(sample) = &self.sample {
            for (title, text, row) in sample.neighbours() {
                heading(ui, theme, title);
                link(ui, &text, row);
            }
            return commands;
        }
        if self.stack.is_empty() || !self.ancestors.is_empty() {
            heading(ui, theme, "Ancestors");
        }
        if self.stack.is_empty() && self.ancestors.is_empty() {
            ui.label(RichText::new("Top level of its track").color(theme.weak_text));
        }
        self.ancestors.iter().rev().for_each(|(name, row)| link(ui, name, *row));
        if !self.children.is_empty() {
            heading(ui, theme, "Longest children");
            for child in &self.children {
                // A long name is cut at its end.
                link(ui, &format!("{}  {}", self.child_amounts(child), child.name), child.row);
            }
        }
        commands
    }

    /// Returns the duration of a child, and its share of the span: of the part inside, for a child that ends after the
    /// span. An unfinished span has no shares, since its duration is unknown.
    fn child_amounts(&self, child: &Child) -> String {
        let duration = self.unit.text(child.dur_ns);
        if self.description.unfinished {
            return duration;
        }
        let share = share_text(child.inside_ns, self.description.dur_ns);
        let inside = (child.inside_ns < child.dur_ns).then(|| format!(", {} inside", self.unit.text(child.inside_ns)));
        format!("{duration}{}{share}", inside.unwrap_or_default())
    }

    /// Returns all details as text, to be pasted elsewhere.
    #[must_use]
    pub(crate) fn as_text(&self, clock: RulerClock) -> String {
        let description = &self.description;
        let mut lines = vec![format!("name: {}", description.name)];
        if self.unit.is_time() {
            let word = if self.sample.is_some() { "time" } else { "start" };
            lines.push(format!("{word}: {} s", clock.seconds_text(description.start_ns)));
            match &self.sample {
                Some(sample) => lines.extend(sample.lines()),
                None => lines.push(format!("duration: {} ns", description.dur_ns)),
            }
            lines.extend(self.end_ns().map(|end_ns| format!("end: {} s", clock.seconds_text(end_ns))));
        } else if self.kind == LaneKind::Spans {
            lines.push(format!("weight: {}", self.unit.text(description.dur_ns)));
        }
        lines.push(format!("track: {}", self.track_text));
        lines.push(format!("process: {}", self.process_text));
        lines.extend(self.utc_text().map(|utc| format!("utc: {utc}")));
        let word = if self.is_frame { "module" } else { "category" };
        lines.extend(description.category.as_ref().map(|category| format!("{word}: {category}")));
        lines.extend(self.lines.iter().map(|line| format!("source: {line}")));
        lines.extend(self.stack.iter().map(|function| format!("frame: {function}")));
        if !description.args_json.is_empty() {
            lines.push(format!("arguments: {}", description.args_json));
        }
        lines.join("\n")
    }
}

/// Returns the functions at the address of a frame with their current lines, if they are resolved.
fn source_lines(snapshot: &Snapshot, row: RowIdx) -> Vec<String> {
    let Some(overlay) = snapshot.overlay() else { return Vec::new() };
    let name = snapshot.row(row).name;
    let line = |line: &FrameLine| {
        let function = snapshot.names().get(line.function).text;
        let file = overlay.lines.file(*line);
        let location = match (file, line.line) {
            ("", _) => String::new(),
            (file, 0) => format!(" at {file}"),
            (file, line) => format!(" at {file}:{line}"),
        };
        format!("{function}{location}")
    };
    overlay.lines.lines(name).iter().map(line).collect()
}

/// Returns whether a row is named by a frame: a bar of samples, or a sample with a stack.
fn is_frame(snapshot: &Snapshot, row: RowIdx) -> bool {
    let lane = snapshot.lane(row.lane);
    if lane.kind != LaneKind::Samples {
        return snapshot.track(lane.track).key.kind.is_derived();
    }
    // The names of the store: symbolization renames the row to all functions inlined in the frame.
    let innermost = stack_of(snapshot, row).and_then(|stack| snapshot.raw_stacks().frames(stack).next());
    let own = snapshot.raw_names().get(snapshot.row(row).name);
    innermost
        .map(|frame| snapshot.raw_names().get(frame))
        .is_some_and(|frame| (frame.text, frame.category) == (own.text, own.category))
}

/// Returns the call stack of a sample as in the store; `None` for other rows.
fn stack_of(snapshot: &Snapshot, row: RowIdx) -> Option<StackIdx> {
    if snapshot.lane(row.lane).kind != LaneKind::Samples {
        return None;
    }
    let sample = LaneCursor::new(snapshot.store(), row.lane).row(row.row)?;
    Some(StackIdx::from_value(sample.value))
}

/// Returns the names of the functions of a call stack, innermost first.
fn function_names(snapshot: &Snapshot, stack: StackIdx) -> Vec<String> {
    let mut functions = snapshot.frames(stack);
    let first = functions.by_ref().take(FRAMES_MAX).map(|function| snapshot.names().get(function).text.to_owned());
    let mut lines: Vec<String> = first.collect();
    let hidden = functions.count() as u64;
    if hidden > 0 {
        lines.push(format!("and {} more", grouped_digits(hidden)));
    }
    lines
}

fn scrolled(ui: &mut Ui, salt: &str, content: impl FnOnce(&mut Ui)) {
    ScrollArea::vertical().id_salt(salt).auto_shrink(false).show(ui, |ui| {
        // Line height of text, not of buttons.
        ui.spacing_mut().interact_size.y = ui.text_style_height(&egui::TextStyle::Body);
        ui.spacing_mut().item_spacing.y = 4.0;
        content(ui);
    });
}

fn heading(ui: &mut Ui, theme: &Theme, text: &str) {
    ui.label(RichText::new(text).small().color(theme.weak_text));
}

fn named(text: &str) -> String {
    on_screen(&shown_name(text)).into_owned()
}

/// Returns a process that has a name or an id.
fn named_process(snapshot: &Snapshot, process: ProcessIdx) -> Option<&Process> {
    let process = snapshot.tracks().processes.get(process.index())?;
    Some(process).filter(|process| process.pid != Id::None || !process.name.is_empty())
}

/// Returns the name of a track with its id, or its title beside the timeline if it has no name.
fn track_text(track: &Track) -> String {
    if track.name.is_empty() { track_title(track).0 } else { with_id(&track.name, &track.key.tid) }
}

/// Returns the name of a process with its id, or its title beside the timeline if it has no name.
fn process_text(process: &Process) -> String {
    if process.name.is_empty() { process_title(process) } else { with_id(&process.name, &process.pid) }
}

fn with_id(name: &str, id: &Id) -> String {
    let id = id.to_string();
    if id.is_empty() { name.to_owned() } else { format!("{name} {id}") }
}

/// Formats the share of a duration in another, such as `  12.5 %`. Empty if the other is 0.
fn share_text(part_ns: u64, whole_ns: u64) -> String {
    let share = || TableNumber::Share { part: part_ns.into(), whole: whole_ns.into() };
    if whole_ns == 0 { String::new() } else { format!("  {}", share().text()) }
}
