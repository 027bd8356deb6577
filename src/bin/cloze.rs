//! The `cloze` command; everything is in [`cloze::cli`].

fn main() -> std::process::ExitCode {
    cloze::cli::main()
}
