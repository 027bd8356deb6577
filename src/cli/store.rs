//! A model from one form to another, and a word on what was written: the work of `convert` and `quantize`.
//!
//! [`Contents`] lists the model, a [`TypeChoice`] says which type each tensor gets, [`Probes`] are kept or made, and the file or
//! folder appears under its name when it is whole.

use std::path::Path;

use clap::builder::ArgAction;
use clap::{Arg, ArgMatches, value_parser};
use serde::Serialize;

use super::mapping::Mapping;
use super::output::Out;
use super::progress::Progress;
use super::types::{Types, size};
use super::{Outcome, flags};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::formats::atomic::AtomicFile;
use crate::formats::checksums::Integrity;
use crate::formats::convert::Contents;
use crate::formats::{Form, ResolvedTypes, Source, TypeChoice};
use crate::tasks::{Model, Options, Precision, Probes, Tolerance};

/// Flags that both commands have.
pub(super) fn arguments(out: &'static str) -> [Arg; 8] {
    [
        flags::model(),
        Arg::new("out")
            .short('o')
            .long("out")
            .value_name("OUT")
            .required(true)
            .value_parser(value_parser!(std::path::PathBuf))
            .help(out),
        Arg::new("type").long("type").value_name("TYPE").value_parser(type_name).help(format!(
            "Store weights in this type [{}]",
            TypeChoice::names().join(", ")
        )),
        Arg::new("tensor")
            .long("tensor")
            .value_name("PATTERN=TYPE")
            .action(ArgAction::Append)
            .value_parser(exception)
            .help("Store tensors of these GGUF names in another type; * stands for any characters, ? for one; may be repeated, the last match wins"),
        Arg::new("without_probes")
            .long("without-probes")
            .action(ArgAction::SetTrue)
            .help("Leave out the golden probes that `cloze verify` needs"),
        Arg::new("dry_run").long("dry-run").action(ArgAction::SetTrue).help("Write nothing; show which tensor goes where, and whether the model opens"),
        Arg::new("force").long("force").action(ArgAction::SetTrue).help("Replace what is called OUT"),
        Arg::new("json").long("json").action(ArgAction::SetTrue).help("What was written, as one JSON line"),
    ]
}

fn type_name(name: &str) -> std::result::Result<String, String> {
    TypeChoice::default().ask(name).map(|()| name.to_owned()).map_err(|e| e.message().to_owned())
}

fn exception(words: &str) -> std::result::Result<String, String> {
    TypeChoice::default().except(words).map(|()| words.to_owned()).map_err(|e| e.message().to_owned())
}

/// The path that `-o` names.
pub(super) fn out_path(matches: &ArgMatches) -> &Path {
    matches.get_one::<std::path::PathBuf>("out").map_or(Path::new(""), |path| path)
}

/// Whether a path names a GGUF file, rather than a folder.
pub(super) fn is_gguf(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("gguf"))
}

/// What was written.
#[derive(Serialize)]
struct Written {
    path: String,
    /// Bytes of a GGUF file, or of a folder's tensors.
    bytes: usize,
    /// Bytes of the tensors in the source.
    tensor_bytes_before: usize,
    tensor_bytes: usize,
    tensors: usize,
    numbers: usize,
    types: Types,
    probes: Option<Told>,
}

/// What is said of probes.
#[derive(Serialize)]
struct Told {
    count: usize,
    dimensions: usize,
    /// Whether they are the source's own.
    kept: bool,
    #[serde(flatten)]
    tolerance: Tolerance,
}

/// Does what the flags say.
pub(super) fn run(matches: &ArgMatches) -> Outcome {
    let (model, out) = (flags::model_path(matches), out_path(matches));
    let form = if is_gguf(out) { Form::Gguf } else { Form::Folder };
    let force = matches.get_flag("force");
    let source = Source::open(model)?;
    let dry = matches.get_flag("dry_run");
    if !dry {
        refuse_what_is_there(out, form, force)?;
    }
    refuse_damage(&source)?;
    let mut contents = Contents::of(&source)?;
    let types = choice(matches)?.resolve(&contents.items, form)?;
    if dry {
        Mapping::new(out, &contents, &types, form).print(matches.get_flag("json"))?;
        // Tensors that the model lacks, or has no place for, are named here.
        return Ok(Model::open(&source, &at_f32()).map(drop)?);
    }
    let mut progress = Progress::bytes();
    let mut told = None;
    if form == Form::Gguf && !matches.get_flag("without_probes") {
        progress.say("computing golden probes at f32");
        told = Some(put_probes(&source, &types, &mut contents)?);
    } else {
        Probes::remove(&mut contents.metadata);
    }
    progress.say("writing");
    let choose = |item: &_| types.of(item);
    match form {
        Form::Gguf => {
            let file = if force { AtomicFile::replacing(out)? } else { AtomicFile::create(out)? };
            let probed = told.is_some();
            contents.store_gguf(
                file,
                choose,
                |done, all| progress.of(done, all),
                |written| if probed { prove(written, out) } else { Ok(()) },
            )?
        }
        Form::Folder if force => contents.replace_folder(out, choose, |done, all| progress.of(done, all))?,
        Form::Folder => contents.write_folder(out, choose, |done, all| progress.of(done, all))?,
    }
    drop(progress);
    Written::new(out, &contents, &types, told).print(matches.get_flag("json"))
}

/// Whether the whole file, which does not have its name yet, gives the answers that it promises.
fn prove(written: &Path, out: &Path) -> Result<()> {
    let verified = || Model::load(written, &at_f32())?.verify()?.check();
    let name = |path: &Path| path.display().to_string();
    verified().map_err(|e| {
        Error::new(e.kind(), e.message().replace(&name(written), &name(out))).within(format!("{} was not written", out.display()))
    })
}

fn at_f32() -> Options {
    Options { precision: Precision::F32, ..Options::default() }
}

fn choice(matches: &ArgMatches) -> Result<TypeChoice> {
    let mut choice = TypeChoice::default();
    if let Some(name) = matches.get_one::<String>("type") {
        choice.ask(name)?;
    }
    for words in matches.get_many::<String>("tensor").into_iter().flatten() {
        choice.except(words)?;
    }
    Ok(choice)
}

fn refuse_what_is_there(out: &Path, form: Form, force: bool) -> Result<()> {
    if out.symlink_metadata().is_ok() && !force {
        return fail(ErrorKind::InvalidArgument, format!("{} exists; give another name, or --force to replace it", out.display()));
    }
    if form == Form::Gguf {
        AtomicFile::check_replaceable(out)?;
    }
    if out.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".gguf")) {
        return fail(ErrorKind::InvalidArgument, format!("{}: put a name before .gguf", out.display()));
    }
    if out.extension().is_some_and(|end| end == "safetensors") {
        let told = format!("{}: give the name of a folder, which will hold model.safetensors, or of a .gguf file", out.display());
        return fail(ErrorKind::InvalidArgument, told);
    }
    Ok(())
}

/// What a damaged file became would have sound checksums.
fn refuse_damage(source: &Source) -> Result<()> {
    match source.gguf().and_then(|reader| Integrity::of(reader).told()) {
        Some(told) => fail(ErrorKind::VerificationFailed, told).map_err(|e| e.within(source.describe())),
        None => Ok(()),
    }
}

/// Puts probes into the settings: the source's own, or new ones made from it at f32.
fn put_probes(source: &Source, types: &ResolvedTypes, contents: &mut Contents) -> Result<Told> {
    let own = Probes::of(source)?;
    let kept = own.is_some();
    let mut probes = match own {
        Some(probes) => probes,
        None => Probes::make(&Model::open(source, &at_f32())?)?,
    };
    let changes = contents.items.iter().filter_map(|item| Some((item.tensor.dtype(), types.of(item)?)));
    probes.tolerance = probes.tolerance.looser(Tolerance::of_types(changes));
    probes.write(&mut contents.metadata);
    Ok(Told { count: probes.len(), dimensions: probes.dimensions(), kept, tolerance: probes.tolerance })
}

impl Written {
    fn new(out: &Path, contents: &Contents, types: &ResolvedTypes, probes: Option<Told>) -> Written {
        let mut table = Types::default();
        let mut before = 0;
        for item in &contents.items {
            if let Some(dtype) = types.of(item) {
                let numbers = item.tensor.elements();
                table.add(dtype.name(), numbers, dtype.bytes_of(numbers).unwrap_or(0));
                before += item.tensor.bytes().len();
            }
        }
        let (tensors, numbers, tensor_bytes) = table.total();
        let file = std::fs::metadata(out).ok().filter(std::fs::Metadata::is_file).and_then(|file| usize::try_from(file.len()).ok());
        Written {
            path: out.display().to_string(),
            bytes: file.unwrap_or(tensor_bytes),
            tensor_bytes_before: before,
            tensor_bytes,
            tensors,
            numbers,
            types: table,
            probes,
        }
    }

    fn print(&self, json: bool) -> Outcome {
        let mut out = Out::new();
        if json {
            out.json(self)?;
            return out.flush();
        }
        let (before, after) = (size(self.tensor_bytes_before), size(self.tensor_bytes));
        out.line(format!("{}: {}, {} tensors of {after}, before {before}", self.path, size(self.bytes), self.tensors))?;
        self.types.lines().try_for_each(|line| out.line(line))?;
        if let Some(Told { count, kept, tolerance: Tolerance { lowest_cosine, largest_error }, .. }) = &self.probes {
            let origin = if *kept { "kept" } else { "made at f32" };
            out.line(format!(
                "  {count} probes {origin}; `cloze verify` allows a cosine from {lowest_cosine} and an error up to {largest_error}"
            ))?;
        }
        out.flush()
    }
}
