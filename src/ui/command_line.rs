//! The command line with the same result as a panel, quoted for a shell. Not available if no option can select the
//! tracks of the scope, if no option can name a moved file, or if the trace is in no file.

use std::path::PathBuf;

use regex::Regex;

use super::selected_scope::SelectedScope;
use crate::base::shell::{quoted, quoted_path};
use crate::model::{Id, SourceFile, Sources, TrackIdx, TrackKind, TrackSet};
use crate::query::Snapshot;
use crate::query::scope::TrackChoice;
use crate::query::track_number::track_number;

/// Length limit of a track expression: shells accept arguments of 128 KiB.
const EXPRESSION_BYTES_MAX: usize = 32 * 1024;

/// Limit for the tracks that are listed by their numbers.
const NUMBERED_TRACKS_MAX: usize = 1000;

/// The command of a panel, without the trace and the scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PanelCommandLine {
    /// The subcommand, such as `stats`.
    pub(crate) command: &'static str,
    /// Options of the command itself.
    pub(crate) options: Vec<String>,
    /// The argument after the files.
    pub(crate) query: Option<String>,
    /// The scope of the panel, if it differs from the window's.
    pub(crate) scope: Option<SelectedScope>,
    /// Whether the words of the panel's filter field are missing, because no option has them.
    pub(crate) omits_words: bool,
}

/// Why no command has the result of a panel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoCommandLine {
    #[error("The trace is not saved in a file, so no command can read it: export it first.")]
    NoFile,
    #[error("These tracks cannot be expressed as options: select whole processes, threads or kinds of tracks.")]
    Tracks,
    #[error("{path}: --offset cannot name a file that is given twice, or whose path is not Unicode.")]
    Offset { path: String },
}

impl PanelCommandLine {
    /// Creates a command without options.
    #[must_use]
    pub(crate) fn new(command: &'static str) -> Self {
        Self { command, options: Vec::new(), query: None, scope: None, omits_words: false }
    }

    /// Returns the whole line, with the scope of the window and its symbol folders, or why there is none.
    pub(crate) fn text(
        &self,
        sources: &Sources,
        snapshot: &Snapshot,
        scope: &SelectedScope,
        symbols: &[PathBuf],
    ) -> Result<String, NoCommandLine> {
        if sources.files().iter().any(|file| file.input.is_open_file()) {
            return Err(NoCommandLine::NoFile);
        }
        let scope = self.scope.as_ref().unwrap_or(scope);
        let mut words = vec!["longspan".to_owned(), self.command.to_owned()];
        let mut option = |name: &str, value: String| words.extend([name.to_owned(), quoted(&value)]);
        if let Some((from_ns, to_ns)) = scope.range {
            option("--from", from_ns.to_string());
            option("--to", to_ns.to_string());
        }
        for (name, expression) in track_options(snapshot, &scope.tracks).ok_or(NoCommandLine::Tracks)? {
            option(name, expression);
        }
        if !scope.filter.is_empty() {
            option("--filter", scope.filter.to_string());
        }
        for file in sources.files().iter().filter(|file| file.offset_ns != 0) {
            let path = file.path().to_string_lossy().into_owned();
            let name = offset_name(sources, file).ok_or(NoCommandLine::Offset { path })?;
            option("--offset", format!("{name}={}ns", file.offset_ns));
        }
        if let Some(unit) = sources.weight_unit() {
            option("--unit", unit.option().to_owned());
        }
        words.extend(symbols.iter().flat_map(|folder| ["--symbols".to_owned(), quoted_path(folder)]));
        words.extend(self.options.iter().map(|option| quoted(option)));
        words.extend(sources.files().iter().map(|file| quoted_path(file.path())));
        if let Some(query) = &self.query {
            // A query may start with a minus.
            words.extend(["--".to_owned(), quoted(query)]);
        }
        Ok(words.join(" "))
    }
}

/// Returns the path by which an option names a file, as given in the command. Returns `None` if the path is not text,
/// or if several files have it.
fn offset_name(sources: &Sources, file: &SourceFile) -> Option<String> {
    let path_of = |file: &SourceFile| std::path::absolute(file.path()).ok();
    let path = path_of(file)?;
    let is_unique = sources.files().iter().filter(|other| path_of(other).as_ref() == Some(&path)).count() == 1;
    path.to_str().filter(|_| is_unique).map(str::to_owned)
}

/// Returns an expression that matches exactly these texts, unless it would be too long.
fn any_of(texts: impl Iterator<Item = String>) -> Option<String> {
    let mut texts: Vec<String> = texts.map(|text| regex::escape(&text)).collect();
    texts.sort();
    texts.dedup();
    let expression = format!("^({})$", texts.join("|"));
    (expression.len() <= EXPRESSION_BYTES_MAX).then_some(expression)
}

/// Returns options that select exactly these tracks among all tracks with events, if possible.
///
/// A list of track numbers is not readable. First, a few expressions over ids and names are tried, and the first that
/// selects the same tracks is returned.
fn track_options(snapshot: &Snapshot, tracks: &TrackSet) -> Option<Vec<(&'static str, String)>> {
    if tracks.is_all() {
        return Some(Vec::new());
    }
    let is_event = |track: TrackIdx| !snapshot.track(track).key.kind.is_derived();
    let mut all: Vec<TrackIdx> = snapshot.event_lanes().map(|lane| snapshot.lane(lane).track).collect();
    all.retain(|&track| is_event(track));
    // The lanes of a track are contiguous.
    all.dedup();
    let wanted: Vec<TrackIdx> = all.iter().copied().filter(|&track| tracks.contains(track)).collect();
    expression_options(snapshot, &all, &wanted, tracks).or_else(|| {
        // The tracks of a live trace are numbered as they arrive, not as in its file.
        let is_numbered = snapshot.store().live_lanes().is_none() && (1..=NUMBERED_TRACKS_MAX).contains(&wanted.len());
        let numbers = || wanted.iter().map(|&track| track_number(track)).collect::<Vec<_>>().join(",");
        is_numbered.then(|| vec![("--track", numbers())])
    })
}

/// Returns expressions and kinds that select exactly the wanted tracks among all with events.
fn expression_options(
    snapshot: &Snapshot,
    all: &[TrackIdx],
    wanted: &[TrackIdx],
    tracks: &TrackSet,
) -> Option<Vec<(&'static str, String)>> {
    let of_process = |track: &TrackIdx| {
        let track = snapshot.track(*track);
        match &track.key.pid {
            Id::None => snapshot.tracks().processes[track.process.index()].name.to_string(),
            id => id.to_string(),
        }
    };
    let id_of = |track: &TrackIdx| snapshot.track(*track).key.tid.to_string();
    let name_of = |track: &TrackIdx| snapshot.track(*track).name.to_string();
    let processes = any_of(wanted.iter().map(of_process))?;
    let by_name = [
        (true, None),
        (false, Some(any_of(wanted.iter().map(id_of)))),
        (false, Some(any_of(wanted.iter().map(name_of)))),
        (true, Some(any_of(wanted.iter().map(id_of)))),
        (true, Some(any_of(wanted.iter().map(name_of)))),
    ];
    let kind_of = |&track: &TrackIdx| snapshot.track(track).key.kind;
    let mut kinds: Vec<TrackKind> = wanted.iter().map(kind_of).collect();
    kinds.sort_unstable();
    kinds.dedup();
    // Kinds that every track has select nothing more.
    let by_kind = all.iter().any(|track| !kinds.contains(&kind_of(track))).then(|| {
        let with_kinds = by_name.clone().map(|(by_process, threads)| (by_process, threads, kinds.clone()));
        [(false, None, kinds.clone())].into_iter().chain(with_kinds)
    });
    let by_name = by_name.map(|(by_process, threads)| (by_process, threads, Vec::new()));
    by_name.into_iter().chain(by_kind.into_iter().flatten()).find_map(|(by_process, threads, kinds)| {
        let process = by_process.then(|| processes.clone());
        let thread = match threads {
            Some(threads) => Some(threads?),
            None => None,
        };
        let expression = |text: &Option<String>| text.as_deref().map(Regex::new).transpose().ok();
        let words: Vec<_> = kinds.iter().map(|kind| kind.word().to_owned()).collect();
        let (process_expression, thread_expression) = (expression(&process)?, expression(&thread)?);
        let choice =
            TrackChoice { process: process_expression, thread: thread_expression, kinds, ..TrackChoice::default() };
        let taken = choice.tracks(snapshot);
        all.iter().all(|&track| taken.contains(track) == tracks.contains(track)).then(|| {
            let options = [("--process", process), ("--thread", thread)];
            let named = options.into_iter().filter_map(|(name, text)| Some((name, text?)));
            named.chain(words.into_iter().map(|word| ("--kind", word))).collect()
        })
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::model::WeightUnit;

    #[test]
    fn a_line_has_the_unit_of_the_weights_and_the_symbol_folders() {
        let snapshot = crate::scene::tests::snapshot(r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1}]"#);
        let sources = Sources::from("/t/x.folded").with_weight_unit(Some(WeightUnit::Milliseconds));
        let scope = SelectedScope::default();
        let line = PanelCommandLine::new("flame");
        let text = |symbols: &[PathBuf]| line.text(&sources, &snapshot, &scope, symbols).unwrap();
        assert_eq!(text(&[]), "longspan flame --unit ms /t/x.folded");
        let symbols = ["/a b".into(), "/c".into()];
        assert_eq!(text(&symbols), "longspan flame --unit ms --symbols '/a b' --symbols /c /t/x.folded");
    }

    #[test]
    fn a_moved_file_has_the_name_that_it_is_given_by_and_no_line_names_a_wrong_one() {
        let snapshot = crate::scene::tests::snapshot(r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1}]"#);
        let (line, scope) = (PanelCommandLine::new("stats"), SelectedScope::default());
        let text = |files: Vec<SourceFile>| line.text(&Sources::new(files), &snapshot, &scope, &[]);
        let file = |path: &str, offset_ns| SourceFile::new(path.into(), offset_ns);
        let path = std::path::absolute("a.json").unwrap().to_string_lossy().into_owned();
        let moved = text(vec![file("a.json", 5), file("/b.json", 0)]).unwrap();
        assert_eq!(
            moved,
            format!("longspan stats --offset {} {} /b.json", quoted(&format!("{path}=5ns")), quoted(&path))
        );
        let offset = |path: &str| Err(NoCommandLine::Offset { path: path.to_owned() });
        assert_eq!(text(vec![file("/a.json", 5), file("/a.json", 0)]), offset("/a.json"));
        assert_eq!(text(vec![file("/dev/fd/5", 0)]), Err(NoCommandLine::NoFile));
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt;
            let path = PathBuf::from(std::ffi::OsStr::from_bytes(b"/\xff"));
            assert!(text(vec![SourceFile::new(path.clone(), 0)]).is_ok());
            assert_eq!(text(vec![SourceFile::new(path, 1)]), offset("/\u{fffd}"));
        }
    }

    #[test]
    fn a_thread_without_its_states_is_named_by_its_kind_and_each_line_selects_exactly_its_tracks() {
        let snapshot = crate::scene::tests::threads_with_states();
        let tracks: Vec<TrackIdx> = snapshot.display_order().to_vec();
        let of = |kind: TrackKind| -> Vec<TrackIdx> {
            tracks.iter().copied().filter(|&track| snapshot.track(track).key.kind == kind).collect()
        };
        let options_of = |tracks: &[TrackIdx]| track_options(&snapshot, &tracks.iter().copied().collect());
        let options = options_of(&of(TrackKind::Thread)).unwrap();
        assert_eq!(options, [("--kind", "thread".to_owned())]);
        let one = snapshot
            .tracks()
            .tracks
            .iter()
            .position(|track| (track.key.kind, track.key.tid.to_string().as_str()) == (TrackKind::State, "8"));
        let options = options_of(&[TrackIdx(one.unwrap() as u32)]).unwrap();
        assert_eq!(options, [("--thread", "^(8)$".to_owned()), ("--kind", "state".to_owned())]);
        let kinds = [of(TrackKind::State), of(TrackKind::Cpu)].concat();
        let options = options_of(&kinds).unwrap();
        assert_eq!(options, [("--kind", "cpu".to_owned()), ("--kind", "state".to_owned())]);
    }

    #[test]
    fn a_track_that_no_expression_tells_from_another_is_selected_by_its_number() {
        let snapshot = crate::scene::tests::snapshot(
            r#"[{"ph":"M","name":"process_name","pid":1,"args":{"name":"2"}},
            {"ph":"X","name":"a","pid":1,"tid":5,"ts":0,"dur":1},{"ph":"X","name":"b","pid":2,"tid":5,"ts":0,"dur":1}]"#,
        );
        let track = (0..2).map(TrackIdx).find(|&track| snapshot.track(track).key.pid.to_string() == "2").unwrap();
        let expected = vec![("--track", track_number(track))];
        assert_eq!(track_options(&snapshot, &[track].into_iter().collect()), Some(expected));
        let choice = TrackChoice { numbered: vec![track, TrackIdx(u32::MAX)], ..TrackChoice::default() };
        assert!(choice.tracks(&snapshot).contains(track) && !choice.tracks(&snapshot).contains(TrackIdx(1 - track.0)));
    }

    #[test]
    fn words_are_quoted_only_if_a_shell_would_change_them() {
        assert_eq!(quoted("/tmp/a-b_c.json"), "/tmp/a-b_c.json");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }

    /// Returns the bytes that a shell makes of a word.
    #[cfg(unix)]
    fn read_by_shell(word: &str) -> Vec<u8> {
        let output = std::process::Command::new("bash").args(["-c", &format!("printf %s {word}")]).output();
        output.expect("a shell").stdout
    }

    #[cfg(unix)]
    #[test]
    fn a_real_shell_reads_every_quoted_word_unchanged() {
        use std::os::unix::ffi::OsStrExt;
        for word in ["a b", "'", "''\"", "$(rm x) `y` \\ !", "-x", "a\nb\tc", "\u{202e}é", "*?[a]{b,c}~#&;|<>"] {
            assert_eq!(read_by_shell(&quoted(word)), word.as_bytes(), "{word:?}");
        }
        // A paste sends each of these letters to the terminal as a key.
        let hostile = "name:/^ctl\u{1}\u{7}\u{1b}[31m'\\x\ttab\nnl\u{7f}\u{9b}\u{202e}é/";
        let pasted = quoted(hostile);
        assert_eq!(crate::base::escape::escaped(&pasted), pasted);
        assert_eq!(read_by_shell(&pasted), hostile.as_bytes());
        let bytes = b"/tmp/\xff'\\ \n$x";
        let path = Path::new(std::ffi::OsStr::from_bytes(bytes));
        assert_eq!(read_by_shell(&quoted_path(path)), bytes);
    }
}
