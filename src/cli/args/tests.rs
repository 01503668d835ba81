//! Command lines, and the resulting commands or errors.

use clap::Parser;

use super::*;
use crate::export::format::ENDINGS_TEXT;
use crate::model::Input;

fn command(words: &str) -> Result<CliCommand, CliError> {
    let low = LowArgs::try_parse_from(words.split(' ')).map_err(|error| CliError::Usage(error.to_string()))?;
    CliCommand::from_low(low)
}

#[test]
fn files_without_a_command_open_the_window() {
    let Ok(CliCommand::OnTrace(TraceCommand::Window { sources, demo: false, .. }, _)) =
        command("longspan a.json b.json --no-cache")
    else {
        panic!("not the window")
    };
    assert_eq!(sources, Sources::unmoved(["a.json", "b.json"].map(PathBuf::from)));
}

#[test]
fn an_offset_is_for_the_file_of_that_path_or_name() {
    let offsets = |words: &str| match command(&format!("longspan info {words} --no-cache")) {
        Ok(CliCommand::OnTrace(TraceCommand::Info { sources, .. }, _)) => {
            sources.files().iter().map(|file| file.offset_ns).collect::<Vec<_>>()
        }
        other => panic!("{words}: {other:?}"),
    };
    assert_eq!(offsets("x/a b"), [0, 0]);
    assert_eq!(offsets("x/a b --offset a=+1.5ms --offset b=-2"), [1_500_000, -2]);
    assert_eq!(offsets("x/a y/a --offset y/a=1s"), [0, 1_000_000_000]);
    assert_eq!(offsets("a y/a --offset a=1s"), [1_000_000_000, 0]);
    assert_eq!(offsets("x=1 --offset x=1=3ns"), [3]);
    assert_eq!(offsets("a - --offset=-=4ns"), [0, 4]);
    assert_eq!(offsets("- a --offset -=-5"), [-5, 0]);
    for (words, expected) in [("a a --offset a=1", "more than once"), ("x/a y/a --offset a=1", "give the path")] {
        let error = command(&format!("longspan info {words}")).expect_err("ambiguous").to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn stdin_is_read_once_however_it_is_named() {
    let stdin = Input::stdin();
    for second in ["-", stdin.path().to_str().unwrap()] {
        let error = command(&format!("longspan info - {second} --no-cache")).expect_err("twice").to_string();
        assert!(error.contains("stdin can be read only once"), "{second}: {error}");
    }
}

#[test]
fn no_advice_turns_an_unknown_option_into_a_file() {
    for words in ["longspan info --follow a", "longspan search a -cat:io", "longspan info --memry 1G a"] {
        let error = crate::cli::messages::parsed(words.split(' ')).expect_err("unknown").to_string();
        assert!(error.contains("unexpected argument") && !error.contains("-- -"), "{error}");
        assert_eq!(error.contains("'--memory'"), words.contains("memry"), "{error}");
    }
}

#[test]
fn more_threads_than_any_load_can_use_are_not_started() {
    for (given, expected) in [(1, 1), (256, 256), (65_535, 256)] {
        match command(&format!("longspan info a --no-cache --threads {given}")) {
            Ok(CliCommand::OnTrace(_, import)) => assert_eq!(import.threads, expected),
            other => panic!("{given}: {other:?}"),
        }
    }
}

#[test]
fn the_name_of_the_output_says_its_format_unless_the_option_does() {
    let format = |words: &str| match command(words) {
        Ok(CliCommand::OnTrace(TraceCommand::Export(export), _)) => export.format,
        other => panic!("{words}: {other:?}"),
    };
    let chrome = |gzip| ExportFormat::ChromeJson { gzip };
    assert_eq!(format("longspan export a -o b.json --no-cache"), chrome(false));
    assert_eq!(format("longspan export a -o b.JSON.GZ --no-cache"), chrome(true));
    assert_eq!(format("longspan export a -o b.longspan --no-cache"), ExportFormat::Native { compact: false });
    assert_eq!(format("longspan export a -o b.longspan --compact --no-cache"), ExportFormat::Native { compact: true });
    assert_eq!(format("longspan export a -o b.pftrace --no-cache"), ExportFormat::Perfetto);
    assert_eq!(format("longspan export a -o b.csv --no-cache"), ExportFormat::Csv { cells: Cells::default() });
    assert_eq!(format("longspan export a -o b.parquet --no-cache"), ExportFormat::Parquet { by_process: false });
    assert_eq!(
        format("longspan export a -o b.json --format native --no-cache"),
        ExportFormat::Native { compact: false }
    );
    assert_eq!(format("longspan export a -o b --format native --no-cache"), ExportFormat::Native { compact: false });
    assert_eq!(format("longspan export a -o b.foo --format chrome --no-cache"), chrome(false));
}

#[test]
fn a_name_without_an_extension_is_written_as_native_and_one_of_no_format_is_refused() {
    let export = |name: &str| command(&format!("longspan export a -o {name} --no-cache"));
    for name in ["b", "json", ".json", "b."] {
        assert!(
            matches!(export(name), Ok(CliCommand::OnTrace(TraceCommand::Export(export), _)) if export.format == ExportFormat::Native { compact: false }),
            "{name}"
        );
    }
    for name in ["b.gz", "b.pftrace.gz", "b.csv.gz", "b.longspan.gz", "b.json.zst", "b.foo", "b.native", "b.html"] {
        let Err(CliError::Usage(message)) = export(name) else { panic!("{name} was taken") };
        assert!(message.starts_with(&format!("{name}: ")) && message.contains(ENDINGS_TEXT), "{message}");
    }
    for (name, meant) in [("b.jsn", ".json"), ("b.pftrac", ".pftrace"), ("b.JSNO", ".json"), ("b.pb", ".pb.gz")] {
        let Err(CliError::Usage(message)) = export(name) else { panic!("{name} was taken") };
        assert!(message.contains(&format!("(did you mean {meant}?)")), "{message}");
        assert!(message.ends_with(", or a --format"), "{message}");
    }
    // Each listed extension is accepted.
    for ending in ENDINGS_TEXT.split([',', ' ']).filter(|ending| ending.starts_with('.')) {
        assert!(export(&format!("b{ending}")).is_ok(), "{ending}");
    }
}

#[test]
fn a_picture_is_refused_under_the_name_of_another_format() {
    let render = |name: &str| command(&format!("longspan render a -o {name} --no-cache"));
    for name in ["b.png", "b.PNG", "b", "-", "b."] {
        assert!(matches!(render(name), Ok(CliCommand::OnTrace(TraceCommand::Render(_), _))), "{name}");
    }
    for name in ["b.jpg", "b.svg", "b.png.gz"] {
        assert!(matches!(render(name), Err(CliError::Usage(_))), "{name}");
    }
}

#[test]
fn a_budget_that_no_load_can_keep_is_refused_with_the_least_that_works() {
    let memory = |text: &str| command(&format!("longspan info a --no-cache --memory {text}"));
    for text in ["0", "1", "1000000", "8388607"] {
        let Err(CliError::Usage(message)) = memory(text) else { panic!("{text} was taken") };
        assert!(message.ends_with(" bytes are too few, at least 8 MiB are needed"), "{message}");
    }
    for (text, bytes) in [("8MiB", 8 << 20), ("8388608", 8 << 20), ("1GiB", 1 << 30)] {
        let Ok(CliCommand::OnTrace(_, import)) = memory(text) else { panic!("{text} was refused") };
        assert_eq!(import.memory_bytes, Some(bytes));
    }
    let Ok(CliCommand::OnTrace(_, import)) = command("longspan info a --no-cache") else { panic!("refused") };
    assert_eq!(import.memory_bytes, None, "not given, unlike one of the default size");
}

#[test]
fn invalid_arguments_are_usage_errors() {
    for words in [
        "longspan spans a --from 5us --to 5us",
        "longspan spans a --name (",
        "longspan spans a --filter dur>fast",
        "longspan stats a --from 5us --to 5us",
        "longspan spans a --from 1parsec",
        "longspan info",
        "longspan info a --threads 0",
        "longspan info a --cache x --no-cache",
        "longspan export a -o b.json --by-process",
        "longspan export a -o b.json --compact",
        "longspan export a -o b.longspan --compact --csv-safe",
        "longspan export a -o b.parquet --by-process --csv-safe",
        "longspan export a -o b.parquet --by-process --compact",
        "longspan export a -o b.json --csv-safe",
        "longspan stats a --format jsonl --csv-safe",
        "longspan render a -o b.png --size 0x0",
        "longspan render a -o b.png --scale 0",
        "longspan render a -o b.png --scale NaN",
        "longspan render a -o b.png --theme blue",
        "longspan synth -o a --spans 5 --disorder 1.5",
        "longspan --demo a.json",
        "longspan cache",
        "longspan info a --offset a",
        "longspan info a --offset a=soon",
        "longspan info a --offset b=1",
        "longspan info a --offset a=1 --offset a=2",
        "longspan info x/a y/a --offset a=1",
        "longspan --offset a=1",
        "longspan info --offset a=1",
        "longspan info - a -",
    ] {
        assert!(matches!(command(words), Err(CliError::Usage(_))), "{words}");
    }
}

#[test]
fn times_before_zero_are_times_and_not_options() {
    let Ok(CliCommand::OnTrace(TraceCommand::Spans(spans), _)) =
        command("longspan spans a --from -5ms --to -1 --no-cache")
    else {
        panic!("not spans")
    };
    assert_eq!(spans.scope.range.on_clock_of(0), (Some(-5_000_000), Some(-1)));
}

#[test]
fn options_may_stand_anywhere_among_the_files_and_the_last_argument() {
    let files = |sources: &Sources| sources.files().iter().map(|file| file.path().to_owned()).collect::<Vec<_>>();
    for count in 1..=3 {
        let expected: Vec<PathBuf> = (0..count).map(|file| PathBuf::from(format!("f{file}"))).collect();
        // One option at each position, a second at each later position, and perhaps a `--` before the last word.
        for (first, second, marked) in (0..=count + 1).flat_map(|first| {
            (first..=count + 1).flat_map(move |second| [(first, second, false), (first, second, second <= count)])
        }) {
            let mut words: Vec<String> = (0..count).map(|file| format!("f{file}")).collect();
            words.extend(marked.then(|| "--".to_owned()).into_iter().chain(["q".to_owned()]));
            words.insert(second, "--no-cache".to_owned());
            words.splice(first..first, ["--from", "-5"].map(str::to_owned));
            let words = words.join(" ");
            match command(&format!("longspan search {words}")) {
                Ok(CliCommand::OnTrace(TraceCommand::Search(search), _)) => {
                    assert_eq!(files(&search.sources), expected, "{words}");
                    assert_eq!(search.scope.filter.terms.len(), 1, "{words}");
                    assert_eq!(search.scope.range.on_clock_of(0), (Some(-5), None), "{words}");
                }
                other => panic!("{words}: {other:?}"),
            }
            match command(&format!("longspan annotate {words}")) {
                Ok(CliCommand::OnTrace(TraceCommand::Annotate(annotate), _)) => {
                    assert_eq!((files(&annotate.sources), &*annotate.function), (expected.clone(), "q"), "{words}");
                }
                other => panic!("{words}: {other:?}"),
            }
        }
    }
    let Ok(CliCommand::OnTrace(TraceCommand::Search(search), _)) = command("longspan search a  --no-cache") else {
        panic!("an empty query")
    };
    assert!(search.scope.filter.is_empty());
    for words in ["search  q", "info ", "info a "] {
        assert!(matches!(command(&format!("longspan {words}")), Err(CliError::Usage(_))), "{words}");
    }
    for (words, name) in [("search a", "QUERY"), ("annotate a --from 5", "FUNCTION"), ("search", "QUERY")] {
        let Err(CliError::Usage(text)) = command(&format!("longspan {words}")) else { panic!("{words}") };
        assert!(text.contains(name), "{words}: {text}");
    }
}
