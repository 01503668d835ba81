//! The program: hands its words to the command line, and its answer to the system.

use std::process::ExitCode;

fn main() -> ExitCode {
    longspan::run(std::env::args_os())
}
