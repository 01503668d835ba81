//! Command lines, one argument per line: any arguments are a command or an error with a reason. The error has no
//! control characters from them. The arguments are only parsed; nothing is executed.

use std::ffi::OsString;

use longspan::facade::base::escape::is_control;
use longspan::facade::cli::problem_of;

/// Longer command lines test nothing new.
const WORDS_MAX: usize = 40;

/// On systems whose file names are bytes, any bytes without a zero are an argument.
#[cfg(unix)]
fn word(bytes: &[u8]) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

#[cfg(not(unix))]
fn word(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

pub(super) fn check(bytes: &[u8]) {
    let mut words = vec![OsString::from("longspan")];
    words.extend(bytes.split(|&byte| byte == b'\n').take(WORDS_MAX).map(word));
    let problem = problem_of(&words);
    assert_eq!(problem_of(&words), problem);
    if let Some(problem) = problem {
        let control = problem.chars().find(|&letter| letter != '\n' && is_control(letter));
        assert_eq!(control, None, "{problem}");
        assert!(!problem.trim().is_empty());
    }
}
