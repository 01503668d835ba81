//! The promises of the window, and the tests that check them with real input. Three promises have no test here. An X
//! server cannot send pinch gestures (see `tests/panels/hand.rs`). `tests/panels/controls.rs` checks all names in the
//! accessibility tree. A software renderer cannot be lost.

/// Each promise, with its tests as `file::function`.
const PROMISES: &[(&str, &[&str])] = &[
    // Timeline.
    (
        "a drag pans the view, and panning is kinetic after the release unless that is turned off",
        &[
            "pan_zoom::a_drag_pans_the_timeline_by_the_distance_of_the_pointer",
            "navigation::a_drag_released_at_speed_keeps_panning_unless_kinetic_panning_is_off",
        ],
    ),
    (
        "the wheel scrolls tracks",
        &["tracks::a_pinned_track_stays_while_the_wheel_scrolls_tracks_and_after_the_trace_is_reopened"],
    ),
    ("Ctrl and the wheel zoom at the pointer", &["pan_zoom::ctrl_and_the_wheel_zoom_at_the_time_under_the_pointer"]),
    (
        "the wheel zooms and Ctrl scrolls, by preference",
        &["time_ranges::the_wheel_zooms_and_ctrl_scrolls_if_that_preference_is_set_and_it_is_saved"],
    ),
    (
        "Shift and a drag select time; F zooms to it",
        &["tracks::f_zooms_to_the_time_selected_with_shift_and_alt_left_goes_back"],
    ),
    (
        "Shift and a drag select tracks too; Ctrl and a click remove one",
        &["time_ranges::a_drag_with_shift_selects_time_and_tracks_and_a_click_with_ctrl_removes_a_track"],
    ),
    (
        "a drag with the middle button selects time, whose edges can be dragged",
        &["time_ranges::a_time_range_selected_with_the_middle_button_is_resized_at_its_edges"],
    ),
    (
        "a double click zooms to a span, 0 to all; back and forward",
        &["navigation::a_double_click_zooms_to_a_span_and_keys_zoom_out_and_go_back_and_forward"],
    ),
    ("W, S, A, D, plus, minus and the arrow keys zoom and pan", &["pan_zoom::keys_zoom_and_pan_in_both_directions"]),
    (
        "keys select the previous and the next span, the parent, the longest child",
        &["navigation::keys_select_the_previous_and_next_span_the_parent_and_the_longest_child"],
    ),
    (
        "zooms are animated, unless the desktop asks for reduced motion",
        &["time_ranges::zooms_are_animated_unless_the_desktop_reduces_motion_and_its_theme_is_followed"],
    ),
    (
        "the minimap: density, search hits, import issues",
        &["time_ranges::the_minimap_shows_span_density_search_hits_and_import_issues"],
    ),
    (
        "the minimap: the view is moved and resized",
        &[
            "tracks::a_click_on_the_minimap_moves_the_view",
            "time_ranges::the_view_on_the_minimap_is_moved_by_a_drag_and_widened_at_its_edge",
        ],
    ),
    ("tracks are folded", &["tracks::a_click_on_a_process_folds_it_to_a_summary_strip_and_another_unfolds_it"]),
    (
        "tracks are pinned",
        &["tracks::a_pinned_track_stays_while_the_wheel_scrolls_tracks_and_after_the_trace_is_reopened"],
    ),
    ("tracks are hidden", &["navigation::a_hidden_track_stays_hidden_until_all_are_shown"]),
    (
        "tracks are grouped under a name",
        &["time_ranges::tracks_selected_with_ctrl_form_a_named_group_that_folds_to_a_summary_strip"],
    ),
    ("tracks are filtered by text", &["tracks::a_track_filter_shows_only_matching_tracks_and_escape_shows_all_again"]),
    ("the order and the height of tracks", &["track_kinds::the_track_order_and_height_are_applied_and_saved"]),
    (
        "colours by name, category, thread, duration; a colour-blind-safe palette",
        &["track_kinds::spans_are_coloured_by_the_chosen_property_also_in_the_colour_blind_safe_palette"],
    ),
    (
        "instants, counters, async spans, flows of the selected span",
        &["track_kinds::instants_counters_async_spans_and_flows_are_shown_and_react_to_the_pointer"],
    ),
    ("the threads that ran on each CPU", &["track_kinds::each_cpu_has_a_track_of_the_threads_that_ran"]),
    (
        "the ruler from a marker; named markers, saved",
        &["persistence::named_markers_are_saved_with_the_trace_and_the_ruler_counts_from_the_chosen_one"],
    ),
    (
        "the ruler by the time of day; the time under the pointer",
        &["time_ranges::the_ruler_shows_the_time_of_day_and_the_time_under_the_pointer"],
    ),
    (
        "M adds markers, and the time between two is measured",
        &["navigation::markers_are_added_at_the_pointer_and_the_view_zooms_to_the_time_between_two"],
    ),
    ("the context menu", &["analysis::the_context_menu_has_actions_for_the_span_the_time_and_the_track"]),
    (
        "the offset of a file, by a drag that can be cancelled",
        &["time_ranges::a_drag_with_ctrl_shifts_one_file_in_time_and_escape_cancels_the_drag"],
    ),
    // Search and statistics.
    ("the details of a span", &["pan_zoom::a_click_shows_the_details_of_a_span_and_escape_clears_the_selection"]),
    ("the details are copied", &["clipboard::the_selected_span_is_copied_as_text_that_another_program_can_paste"]),
    (
        "flows lead from span to span",
        &["track_kinds::instants_counters_async_spans_and_flows_are_shown_and_react_to_the_pointer"],
    ),
    (
        "statistics of a time range",
        &["analysis::statistics_of_a_time_range_are_sorted_and_copied_and_link_to_the_longest_spans"],
    ),
    (
        "search, steps through its hits, and dims other spans",
        &["analysis::a_search_by_text_regex_or_condition_dims_other_spans_and_steps_through_its_hits"],
    ),
    ("histograms of one name", &["analysis::histogram_bars_of_a_name_search_its_durations_and_zoom_to_its_times"]),
    ("the command palette", &["tracks::the_command_palette_finds_a_command_by_name_and_enter_runs_it"]),
    (
        "the list of spans in the scope",
        &["analysis::a_row_of_the_span_list_selects_its_span_and_a_right_click_on_a_header_hides_a_column"],
    ),
    (
        "the list of keyboard shortcuts",
        &["analysis::the_question_mark_shows_the_keyboard_shortcuts_and_escape_closes_them"],
    ),
    // Desktop.
    (
        "a trace is opened by an argument",
        &["open::a_file_on_the_command_line_is_opened_and_does_not_delay_the_first_frame"],
    ),
    (
        "a trace is opened by a dialog, or in the window if there is no portal",
        &[
            "open::without_a_system_dialog_a_typed_path_is_opened",
            "persistence::the_file_picker_navigates_folders_and_opens_and_replaces_files",
        ],
    ),
    ("a trace is opened by a drop", &["open::a_dropped_file_is_opened"]),
    ("a trace is opened by a copied path", &["clipboard::paths_copied_in_a_file_manager_are_opened_as_one_trace"]),
    (
        "recent traces; preferences, the window and the view are saved",
        &["persistence::preferences_the_window_size_and_the_view_are_restored"],
    ),
    (
        "tabs; a second start opens its trace in the first window",
        &[
            "second_instance::a_second_start_opens_its_file_as_a_tab_of_the_open_window_and_both_tabs_stay",
            "second_instance::an_empty_file_is_passed_to_the_open_window_which_reports_it",
            "second_instance::a_second_start_with_a_unit_opens_a_separate_window",
            "second_instance::a_hung_or_crashed_window_does_not_block_a_new_one",
            "second_instance::a_second_start_opens_a_separate_window_if_that_preference_is_set",
            "second_instance::without_a_runtime_folder_a_second_start_finds_the_window_too",
            "second_instance::without_a_runtime_folder_no_library_writes_to_stderr",
        ],
    ),
    ("broken preferences are renamed", &["persistence::broken_preferences_are_renamed_and_reported"]),
    ("scales from 1 to 3", &["pan_zoom::spans_grow_with_a_scale_of_2_and_3_and_the_window_stays_within_the_screen"]),
    (
        "small windows and screens",
        &[
            "pan_zoom::the_timeline_is_redrawn_in_the_new_size_after_the_window_shrinks_and_grows",
            "pan_zoom::the_window_fits_a_screen_smaller_than_its_default_size",
        ],
    ),
    ("the keyboard alone", &["analysis::the_keyboard_alone_opens_a_trace_folds_its_tracks_and_uses_its_menus"]),
    (
        "the sorted trace is exported; progress is shown, and can be cancelled",
        &[
            "jobs::an_export_from_the_menu_has_every_span_in_order",
            "jobs::a_compact_export_from_the_menu_is_smaller_and_has_the_same_events",
            "jobs::closing_during_an_export_asks_first_and_leaves_no_partial_file",
            "jobs::a_cancelled_load_leaves_no_partial_store_and_the_next_file_opens",
        ],
    ),
    (
        "images are exported",
        &[
            "clipboard::an_exported_image_has_the_pixels_of_the_timeline_on_the_screen",
            "clipboard::an_exported_image_of_the_window_has_its_panels_and_all_of_its_pixels",
        ],
    ),
    (
        "errors are messages, and on a terminal without a window",
        &[
            "open::an_unreadable_file_is_an_error_message_and_the_next_file_opens",
            "open::a_missing_file_is_an_error_on_the_terminal_without_a_window",
        ],
    ),
    (
        "a truncated trace, a full disk, import issues",
        &[
            "persistence::a_truncated_trace_is_shown_up_to_the_cut_and_a_full_disk_is_an_error_message",
            "jobs::import_issues_are_a_button_in_the_status_bar_that_opens_their_list",
        ],
    ),
    (
        "no display, no driver",
        &[
            "open::an_unreachable_display_is_an_error_with_advice",
            "open::a_missing_graphics_driver_is_an_error_with_advice",
        ],
    ),
    (
        "a trace is shown while it is written; Space pauses and follows, Stop sorts it",
        &[
            "live::a_growing_file_is_followed_paused_and_sorted_on_stop",
            "live::a_program_is_followed_and_ends_with_the_window",
        ],
    ),
    (
        "what --keep retains can be exported after the end of the trace",
        &["live::the_retained_output_of_a_program_can_be_exported_after_its_end"],
    ),
    ("an idle window does no work", &["jobs::an_idle_window_uses_no_cpu_time"]),
];

/// Files whose tests belong to no promise: they check the portal of the desktop and the session itself. The folder
/// `wayland` has tests of display servers.
const WITHOUT_PROMISES: [&str; 3] = ["portal", "promises", "session"];

#[test]
fn every_promise_has_a_test_and_every_test_a_promise() {
    let mut tests = Vec::new();
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/window")).expect("a folder");
    for path in
        files.map(|file| file.expect("a file").path()).filter(|path| path.extension().is_some_and(|it| it == "rs"))
    {
        let file = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        if WITHOUT_PROMISES.contains(&file) {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a text");
        let names = text.split("#[test]\nfn ").skip(1).filter_map(|rest| rest.split('(').next());
        tests.extend(names.map(|name| format!("{file}::{name}")));
    }
    let promised: Vec<&str> = PROMISES.iter().flat_map(|(_, tests)| tests.iter().copied()).collect();
    for name in &promised {
        assert!(tests.iter().any(|test| test == name), "{name} is not a test");
    }
    for test in &tests {
        assert!(promised.contains(&test.as_str()), "{test} belongs to no promise");
    }
}
