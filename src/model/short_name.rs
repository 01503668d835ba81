//! Short names of processes that are named by their command line.

use std::borrow::Cow;

/// Shortens the name of a process that is its command line. The short name is the value of Chromium's `--type=`, or
/// else the program without its folders, and the script of an interpreter. Keeps any other name.
#[must_use]
pub(crate) fn short_name(name: &str) -> Cow<'_, str> {
    let Some(program) = program_of(name) else { return Cow::Borrowed(name) };
    // The words after `-c` are a script for a shell, whose programs are other processes.
    let mut words = name.split_ascii_whitespace().take_while(|word| *word != "-c");
    match words.find_map(|word| word.strip_prefix("--type=")).filter(|kind| !kind.is_empty()) {
        Some("gpu-process") => Cow::Borrowed("GPU process"),
        Some(kind) => {
            let (first, rest) = kind.split_at(kind.chars().next().map_or(0, char::len_utf8));
            Cow::Owned(format!("{}{rest}", first.to_uppercase()))
        }
        None => script_of(name).map_or(Cow::Borrowed(program), |script| Cow::Owned(format!("{program} {script}"))),
    }
}

/// Programs that are named with their script, since many processes have the same interpreter. Their names may end with
/// a version.
const INTERPRETERS: [&str; 7] = ["python", "node", "ruby", "perl", "php", "bash", "sh"];

/// Returns the script of an interpreter, without its folders; `None` for another command line, or one with options.
fn script_of(name: &str) -> Option<&str> {
    let mut words = name.split_ascii_whitespace();
    let program = without_folders(words.next()?, &['/']);
    let base = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let script = words.next().filter(|word| !word.starts_with('-') && word.contains(['/', '.']))?;
    INTERPRETERS.contains(&base).then(|| without_folders(script, &['/']))
}

/// Returns the program of a command line without its folders; `None` if the name is not a command line.
fn program_of(name: &str) -> Option<&str> {
    let start = name.trim_ascii_start();
    if is_windows_path(start) {
        let path = windows_program(start);
        return Some(without_folders(path, &['/', '\\']));
    }
    let mut words = start.split_ascii_whitespace();
    let program = words.next()?;
    let is_command_line = program.starts_with('/')
        || words.next().is_some_and(|word| word.starts_with("--"))
        || script_of(start).is_some();
    is_command_line.then(|| without_folders(program, &['/']))
}

/// Returns the last part of a path; the whole path if it ends with a mark.
fn without_folders<'a>(path: &'a str, marks: &[char]) -> &'a str {
    path.rsplit(marks).next().filter(|base| !base.is_empty()).unwrap_or(path)
}

/// Returns whether a command line begins with a path of Windows, perhaps in quotes: `C:\a`, `C:/a` or `\\server\a`.
fn is_windows_path(line: &str) -> bool {
    let path = line.strip_prefix('"').unwrap_or(line);
    match path.as_bytes() {
        [drive, b':', b'\\' | b'/', ..] => drive.is_ascii_alphabetic(),
        [first, second, ..] => (first, second) == (&b'\\', &b'\\'),
        _ => false,
    }
}

/// Returns the path of the program. Blanks in it may be without quotes: then it ends with `.exe` or before an option.
fn windows_program(line: &str) -> &str {
    if let Some(quoted) = line.strip_prefix('"') {
        return quoted.split('"').next().unwrap_or(quoted);
    }
    let lower = line.to_ascii_lowercase();
    let after_exe = lower.match_indices(".exe").map(|(at, exe)| at + exe.len());
    let mut ends = after_exe.filter(|&end| matches!(line.as_bytes().get(end), None | Some(b' ')));
    let end = ends.next().or_else(|| [" -", " /"].iter().filter_map(|option| line.find(option)).min());
    line[..end.unwrap_or(line.len())].trim_ascii_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_named_by_its_command_line_gets_a_short_name() {
        for (name, short) in [
            ("/opt/chrome/chrome --type=renderer --lang=en", "Renderer"),
            ("/opt/chrome/chrome --type=gpu-process", "GPU process"),
            ("/opt/chrome/chrome --no-sandbox", "chrome"),
            ("chrome --type=utility", "Utility"),
            ("/usr/bin/python3 /home/me/run.py", "python3 run.py"),
            ("python3 /srv/app/manage.py runserver", "python3 manage.py"),
            ("python3.12 run.py", "python3.12 run.py"),
            ("node build/server.js --port 80", "node server.js"),
            ("/usr/bin/python3 -m http.server", "python3"),
            ("/bin/sh -c ./run.sh", "sh"),
            ("node worker", "node worker"),
            ("sh", "sh"),
            ("/", "/"),
            ("/usr/lib/", "/usr/lib/"),
            ("./server --type=", "server"),
            ("/bin/sh -c 'chrome --type=renderer'", "sh"),
            (r"C:\Program Files\Google\Chrome\chrome.exe --type=gpu-process", "GPU process"),
            (r#""C:\Program Files\Google\Chrome\chrome.exe" --no-sandbox"#, "chrome.exe"),
            (r"C:\Program Files\Google\Chrome\chrome.exe --no-sandbox", "chrome.exe"),
            (r"c:\Windows\System32\svchost.EXE", "svchost.EXE"),
            ("D:/games/run me -fast", "run me"),
            (r"\\server\tools\sort.exe in.txt", "sort.exe"),
            (r"C:\", r"C:\"),
            ("GPU Process", "GPU Process"),
            ("my server -v", "my server -v"),
            ("kworker/0:1", "kworker/0:1"),
            ("C: drive", "C: drive"),
            ("é", "é"),
            ("", ""),
            ("  ", "  "),
        ] {
            assert_eq!(short_name(name), short, "{name:?}");
        }
    }
}
