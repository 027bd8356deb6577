//! The `cloze-train` command; everything is in [`cloze::cli::train`].

fn main() -> std::process::ExitCode {
    cloze::cli::train::main()
}
