//! The promises of the window, and the tests that check them with real input. Three promises have none: no X server can
//! pinch (see `tests/panels/hand.rs`), `tests/panels/controls.rs` checks all names in the accessibility tree, and no
//! software renderer can be lost.

/// Each promise, and its tests by file.
const PROMISES: &[(&str, &[&str])] = &[
    // Timeline.
    (
        "a drag moves the view, and goes on when let go unless that is turned off",
        &[
            "moves::a_drag_moves_the_picture_with_the_hand",
            "hand::a_drag_that_is_let_go_at_speed_goes_on_unless_that_is_turned_off",
        ],
    ),
    (
        "the wheel scrolls rows",
        &["rows::a_pinned_track_stays_while_the_wheel_scrolls_the_rows_and_is_there_when_the_capture_is_opened_again"],
    ),
    (
        "Ctrl and the wheel zoom at the pointer",
        &["moves::the_wheel_zooms_with_ctrl_and_the_time_under_the_pointer_stays"],
    ),
    (
        "the wheel the other way round",
        &["time::the_wheel_zooms_and_ctrl_scrolls_where_that_is_chosen_and_it_stays_chosen"],
    ),
    (
        "Shift and a drag select time; F fits it",
        &["rows::time_selected_with_shift_is_what_f_fits_and_alt_left_goes_back"],
    ),
    (
        "Shift and a drag select tracks too; Ctrl and a click take one away",
        &["time::a_drag_with_shift_selects_time_and_tracks_and_ctrl_with_a_click_takes_one_away"],
    ),
    (
        "a middle drag selects time, whose edges can be dragged",
        &["time::time_selected_with_the_middle_button_is_changed_by_its_edges"],
    ),
    (
        "a double click, 0 and Home, back and forward",
        &["hand::a_double_click_fills_the_view_with_a_span_and_the_keys_lead_out_back_and_forward"],
    ),
    ("W, S, A, D and their kin", &["moves::keys_zoom_and_move_and_come_back"]),
    (
        "the previous and the next span, the one around, the longest inside",
        &["hand::keys_go_from_span_to_span_into_one_and_out_of_it"],
    ),
    (
        "zooms fly, unless the desktop asks for no movement",
        &["time::zooms_fly_unless_the_desktop_asks_for_no_movement_and_its_theme_is_followed"],
    ),
    ("the map: density, hits, losses", &["time::the_map_shows_where_spans_are_what_was_found_and_what_was_lost"]),
    (
        "the map: the view as a window",
        &[
            "rows::a_drag_on_the_map_moves_the_view",
            "time::the_window_on_the_map_is_dragged_through_time_and_made_wider_at_its_edge",
        ],
    ),
    ("rows folded", &["rows::a_click_on_a_process_folds_it_to_a_strip_of_its_colours_and_another_unfolds_it"]),
    (
        "rows pinned",
        &["rows::a_pinned_track_stays_while_the_wheel_scrolls_the_rows_and_is_there_when_the_capture_is_opened_again"],
    ),
    ("rows hidden", &["hand::a_hidden_track_stays_hidden_until_all_are_shown"]),
    (
        "rows grouped under a name",
        &["time::tracks_chosen_with_ctrl_are_grouped_under_a_typed_name_and_fold_to_a_strip_of_their_colours"],
    ),
    ("rows filtered by text", &["rows::a_filter_leaves_the_rows_that_it_names_and_escape_brings_back_the_others"]),
    ("the order and the height of rows", &["kinds::rows_are_ordered_and_sized_as_chosen_and_stay_so"]),
    (
        "colours by name, category, thread, duration; for colour-blind eyes",
        &["kinds::spans_are_coloured_by_what_is_chosen_also_for_colour_blind_eyes"],
    ),
    (
        "instants, counters, asynchronous spans, flows of the selected span",
        &["kinds::instants_counters_asynchronous_spans_and_flows_are_shown_and_answer_the_hand"],
    ),
    ("what ran on which processor", &["kinds::each_processor_has_a_row_of_the_threads_that_ran"]),
    (
        "the ruler from a mark; marks with names, kept",
        &["kept::marks_keep_their_names_with_the_capture_and_the_ruler_counts_from_the_chosen_one"],
    ),
    (
        "the ruler by the time of day; the time under the pointer",
        &["time::the_ruler_tells_the_time_of_day_and_the_time_under_the_pointer"],
    ),
    (
        "M sets marks, and time is measured between two",
        &["hand::marks_stand_where_the_pointer_was_and_the_time_between_two_fills_the_view"],
    ),
    (
        "the menu of the right button",
        &["finding::the_right_button_offers_what_can_be_done_with_a_span_the_time_and_the_track"],
    ),
    (
        "files dragged through time, and let go back",
        &["time::a_file_dragged_with_ctrl_moves_against_the_other_and_escape_lets_it_go_back"],
    ),
    // Finding.
    ("the details of a span", &["moves::a_click_shows_the_details_of_a_span_and_escape_lets_go_of_it"]),
    ("the details copied", &["clipboard::the_selected_span_is_copied_as_text_that_another_program_can_paste"]),
    (
        "from span to span by their flows",
        &["kinds::instants_counters_asynchronous_spans_and_flows_are_shown_and_answer_the_hand"],
    ),
    (
        "totals of a slice of time",
        &["finding::totals_of_a_slice_of_time_are_sorted_narrowed_copied_and_lead_to_the_longest"],
    ),
    (
        "search, its hits one after the other, the rest dimmed",
        &["finding::a_search_takes_letters_patterns_and_terms_dims_the_rest_and_leads_from_hit_to_hit"],
    ),
    (
        "one name, by its bars",
        &["finding::a_bar_of_a_name_finds_the_spans_that_take_as_long_and_a_part_of_its_time_fills_the_view"],
    ),
    ("commands by their names", &["rows::a_command_is_found_by_its_name_and_given_with_enter"]),
    (
        "the spans of the scope as a list",
        &["finding::a_row_of_the_list_of_spans_selects_its_span_and_a_right_click_on_a_head_hides_a_column"],
    ),
    ("the keys", &["finding::the_question_mark_shows_the_keys_and_escape_puts_them_away"]),
    // Desktop.
    (
        "opened by an argument",
        &["open::a_file_on_the_command_line_is_shown_and_the_first_picture_does_not_wait_for_it"],
    ),
    (
        "opened by a dialog, in the window where no portal has one",
        &[
            "open::where_the_system_has_no_dialog_a_path_is_typed_into_the_window",
            "kept::the_picker_leads_through_folders_and_opens_what_is_clicked",
        ],
    ),
    ("opened by a drop", &["open::a_dropped_file_is_opened"]),
    (
        "opened by a path that was copied",
        &["clipboard::paths_that_a_file_manager_has_copied_are_opened_as_one_capture"],
    ),
    (
        "captures that were opened last; preferences, the window and the view kept",
        &["kept::preferences_the_size_of_the_window_and_what_was_in_view_are_there_again"],
    ),
    (
        "tabs; a second start hands over",
        &[
            "second::a_second_start_hands_its_file_to_the_window_as_a_tab_and_both_stay_to_be_gone_through",
            "second::an_empty_file_goes_to_the_open_window_which_says_so",
            "second::a_second_start_with_a_unit_opens_a_window_of_its_own",
            "second::a_hung_or_crashed_window_does_not_block_a_new_one",
            "second::where_that_is_preferred_a_second_start_opens_a_window_of_its_own",
            "second::without_a_runtime_folder_a_second_start_finds_the_window_too",
            "second::without_a_runtime_folder_no_library_writes_on_stderr",
        ],
    ),
    ("broken preferences set aside", &["kept::broken_preferences_are_set_aside_and_told_of"]),
    (
        "scales from one to three",
        &[
            "moves::at_twice_and_three_times_the_scale_spans_are_as_much_higher_and_the_window_is_no_larger_than_its_screen",
        ],
    ),
    (
        "small windows and screens",
        &[
            "moves::a_small_window_shows_the_same_and_a_large_one_again",
            "moves::on_a_screen_smaller_than_the_usual_window_all_of_it_is_seen",
        ],
    ),
    (
        "the keyboard alone",
        &["finding::the_keyboard_alone_opens_a_capture_folds_its_tracks_and_goes_through_its_menus"],
    ),
    (
        "the sorted trace exported; what sorts it shown, and stopped",
        &[
            "work::an_export_from_the_menu_holds_every_span_sorted",
            "work::a_compact_export_from_the_menu_is_smaller_and_has_the_same_events",
            "work::a_window_that_writes_a_file_asks_before_it_closes_and_leaves_no_part_of_the_file",
            "work::a_load_that_is_stopped_leaves_a_window_that_opens_the_next_file_and_no_half_of_a_store",
        ],
    ),
    (
        "pictures exported",
        &[
            "clipboard::an_exported_picture_has_the_pixels_of_the_timeline_on_the_screen",
            "clipboard::an_exported_picture_of_the_window_has_its_panels_and_all_of_its_pixels",
        ],
    ),
    (
        "errors as sentences, on a terminal without a window",
        &[
            "open::an_unreadable_file_is_a_sentence_and_the_window_opens_the_next_one",
            "open::a_missing_file_is_an_error_on_a_terminal_that_opens_no_window",
        ],
    ),
    (
        "a broken capture, a full disk",
        &[
            "kept::a_capture_that_breaks_off_is_shown_up_to_there_and_a_full_disk_is_a_sentence",
            "work::losses_are_a_button_in_the_status_bar_that_opens_their_list",
        ],
    ),
    (
        "no display, no driver",
        &[
            "open::a_display_that_does_not_answer_is_an_error_that_says_what_to_do",
            "open::a_machine_without_anything_that_draws_is_an_error_that_says_what_to_do",
        ],
    ),
    (
        "a trace is shown while it is written; Space pauses and follows, Stop sorts it",
        &[
            "live::a_file_that_grows_is_followed_paused_and_sorted_when_it_is_stopped",
            "live::a_program_is_followed_and_ends_with_the_window",
        ],
    ),
    (
        "what --keep has kept can be exported when the trace has ended",
        &["live::the_kept_part_of_a_program_can_be_exported_after_its_end"],
    ),
    ("nothing to do, nothing done", &["work::a_window_in_which_nothing_happens_uses_no_processor"]),
];

/// The files with tests, by name.
const FILES: [(&str, &str); 12] = [
    ("clipboard", include_str!("clipboard.rs")),
    ("finding", include_str!("finding.rs")),
    ("hand", include_str!("hand.rs")),
    ("kept", include_str!("kept.rs")),
    ("kinds", include_str!("kinds.rs")),
    ("live", include_str!("live.rs")),
    ("moves", include_str!("moves.rs")),
    ("open", include_str!("open.rs")),
    ("rows", include_str!("rows.rs")),
    ("second", include_str!("second.rs")),
    ("time", include_str!("time.rs")),
    ("work", include_str!("work.rs")),
];

#[test]
fn every_promise_has_its_test_and_every_test_its_promise() {
    let mut tests = Vec::new();
    for (file, text) in FILES {
        let names = text.split("#[test]\nfn ").skip(1).filter_map(|rest| rest.split('(').next());
        tests.extend(names.map(|name| format!("{file}::{name}")));
    }
    let promised: Vec<&str> = PROMISES.iter().flat_map(|(_, tests)| tests.iter().copied()).collect();
    for name in &promised {
        assert!(tests.iter().any(|test| test == name), "{name} is no test");
    }
    for test in &tests {
        assert!(promised.contains(&test.as_str()), "{test} holds nothing that is promised");
    }
}
