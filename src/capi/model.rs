//! How does a C caller open, share and describe a model?

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::sync::Arc;

use super::error::{cloze_error, cloze_status};
use super::guard::{Place, Room, c_string, guard, list, shared, value, word};
use super::options::cloze_options;
use super::request::{cloze_request, request_or_default};
use crate::error::{Error, ErrorKind, Result};
use crate::tasks::{Model, Options};

/// A model: tokenizer, weights, and what the model's files say about their use. It never changes.
///
/// Owner: counted. cloze_model_load gives the first reference, cloze_model_retain one more each time; cloze_model_free gives
/// one back, and the last one frees the model. A call holds a reference of its own from its beginning to its end: a model may
/// be freed while another thread is inside a call, which then ends as if nothing had happened. A thread that may still begin
/// a call after somebody else's free must hold a reference of its own.
/// Threads: any number at once, for every call.
pub struct cloze_model {
    model: Model,
}

/// The model behind a pointer, with a reference of its own: it lives on if the caller's last reference goes meanwhile.
///
/// # Safety
/// NULL or a model with a reference at the moment of the call.
pub(super) unsafe fn enter(model: *const cloze_model) -> Result<Model> {
    // SAFETY: the caller's contract.
    Ok(unsafe { shared(model, "model") }?.model.clone())
}

/// Opens the model at `path`, a NUL-terminated path: a Hugging Face or sentence-transformers folder with config.json,
/// safetensors weights and a tokenizer, or a GGUF file. The weights are mapped, not copied, where their form allows: do not
/// change or shorten the files while the model is in use. `options` may be NULL for the defaults. `model` receives the
/// model's first reference, or NULL on an error; give it back with cloze_model_free.
///
/// Errors: CLOZE_NULL_ARGUMENT; CLOZE_IO, CLOZE_INVALID_FILE, CLOZE_UNSUPPORTED and CLOZE_INVALID_TENSOR name the file or
/// tensor; CLOZE_INVALID_ARGUMENT for an instruction set that this machine lacks; CLOZE_OUT_OF_MEMORY.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_model_load(
    path: *const c_char,
    options: *const cloze_options,
    model: *mut *mut cloze_model,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            let place = Place::required(model, "model", std::ptr::null_mut())?;
            let path = native_path(c_string(path, "path")?)?;
            place.set(hand_out(Model::load(path, &options_or_default(options))?));
            Ok(())
        })
    }
}

/// Opens a model whose files are in memory: `count` files, file `i` with the NUL-terminated name `names[i]` (relative to the
/// model's folder, with `/`, such as `1_Pooling/config.json`) and the `lengths[i]` bytes at `datas[i]`; or one GGUF file, of
/// any name. The bytes are copied: the caller may free them when the call returns. Otherwise as cloze_model_load.
///
/// Errors: as cloze_model_load; CLOZE_INVALID_ARGUMENT for a name that is given twice or leaves the folder.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_model_load_files(
    names: *const *const c_char,
    datas: *const *const c_void,
    lengths: *const usize,
    count: usize,
    options: *const cloze_options,
    model: *mut *mut cloze_model,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            let place = Place::required(model, "model", std::ptr::null_mut())?;
            let files = files(names, datas, lengths, count)?;
            place.set(hand_out(Model::load_files(files, &options_or_default(options))?));
            Ok(())
        })
    }
}

/// Takes one more reference and returns `model`; NULL gives NULL. Give it back with cloze_model_free.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_model_retain(model: *const cloze_model) -> *mut cloze_model {
    value(std::ptr::null_mut(), || {
        if !model.is_null() {
            // SAFETY: the header's contract: a model with a reference, which came from `hand_out`.
            unsafe { Arc::increment_strong_count(model) };
        }
        model.cast_mut()
    })
}

/// Gives one reference back; the last one frees the model, or, while calls still run, the last of these does. NULL is fine.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_model_free(model: *mut cloze_model) {
    value((), || {
        if !model.is_null() {
            // SAFETY: the header's contract: the caller's own reference, which came from `hand_out` or cloze_model_retain.
            unsafe { Arc::decrement_strong_count(model.cast_const()) };
        }
    });
}

/// The number of values of one vector that `request` (NULL for the model's own use) gives.
///
/// Errors: CLOZE_NULL_ARGUMENT; CLOZE_INVALID_ARGUMENT for a request that the model cannot serve.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_model_dimensions(
    model: *const cloze_model,
    request: *const cloze_request,
    dimensions: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            let place = Place::required(dimensions, "dimensions", 0)?;
            // An empty list is checked like any other, and answered without running anything.
            place.set(enter(model)?.dimensions(&request_or_default(request))?);
            Ok(())
        })
    }
}

/// Describes the model as one JSON object: family, layers, hidden, heads, vocabulary, parameters, positions, max_tokens,
/// truncation, pooling, normalize, dimensions, prompts, default_prompt, precision, isa, threads and more; later versions may
/// add names. The text and a final NUL are written to `buffer`, which holds `capacity` bytes. `needed` receives their bytes,
/// the NUL included, in every case: call with capacity 0 (and a NULL `buffer`) to learn it.
///
/// Errors: CLOZE_NULL_ARGUMENT; CLOZE_BUFFER_TOO_SMALL.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_model_describe(
    model: *const cloze_model,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, `buffer` for `capacity` bytes.
    unsafe {
        guard(error, || {
            let needed = Place::required(needed, "needed", 0)?;
            let room = Room::new(buffer.cast::<u8>(), capacity, "buffer")?;
            let json = json(enter(model)?.describe())?;
            needed.set(json.len());
            room.fill(&json)
        })
    }
}

/// Compares the model's file with the checksums in it, computes its golden probes again (texts, and the vectors that the model
/// gave for them at f32 before it was quantised) and tells how near the answers are, as one JSON object: passed, checksums (how
/// many, null in a file without), damaged (what is not as it was written or not finite, by name), worst_cosine, mean_cosine,
/// worst_error (the largest difference of a value, as a share of the vector's length), neighbours (the share of the probes' five
/// nearest neighbours among each other that stayed), allowed, dimensions, precision, isa, and probes with one object a probe;
/// later versions may add names.
/// `buffer`, `capacity` and `needed` are as in cloze_model_describe, except that learning the size computes all of it: 16384 bytes
/// are enough for a file of this version. It takes as long as encoding some sixteen texts.
///
/// Errors: CLOZE_NULL_ARGUMENT; CLOZE_INVALID_ARGUMENT for a model without probes, as all folders are; CLOZE_INVALID_FILE for
/// probes that are damaged; CLOZE_NON_FINITE; CLOZE_BUFFER_TOO_SMALL. CLOZE_VERIFICATION_FAILED when the file is damaged or a
/// probe differs by more than is allowed: the message names it, and the report is written all the same.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_model_verify(
    model: *const cloze_model,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, `buffer` for `capacity` bytes.
    unsafe {
        guard(error, || {
            let needed = Place::required(needed, "needed", 0)?;
            let room = Room::new(buffer.cast::<u8>(), capacity, "buffer")?;
            let report = enter(model)?.verify()?;
            let json = json(&report)?;
            needed.set(json.len());
            room.fill(&json)?;
            report.check()
        })
    }
}

/// The JSON form of `value`, and a NUL.
fn json(value: &impl serde::Serialize) -> Result<Vec<u8>> {
    let mut json =
        serde_json::to_vec(value).map_err(|e| Error::new(ErrorKind::InvalidArgument, format!("the answer has no JSON form: {e}")))?;
    json.push(0);
    Ok(json)
}

/// The first reference of a new model.
fn hand_out(model: Model) -> *mut cloze_model {
    Arc::into_raw(Arc::new(cloze_model { model })).cast_mut()
}

/// # Safety
/// NULL or valid; nobody sets or frees it during the call.
unsafe fn options_or_default(options: *const cloze_options) -> Options {
    // SAFETY: the caller's contract.
    unsafe { options.as_ref() }.map_or_else(Options::default, |o| o.options.clone())
}

/// Copies the files that a caller has in memory.
///
/// # Safety
/// NULL or valid: three lists of `count`, each data pointer for its length.
unsafe fn files(
    names: *const *const c_char,
    datas: *const *const c_void,
    lengths: *const usize,
    count: usize,
) -> Result<Vec<(String, Vec<u8>)>> {
    // SAFETY: the caller's contract.
    unsafe {
        let (names, datas, lengths) = (list(names, count, "names")?, list(datas, count, "datas")?, list(lengths, count, "lengths")?);
        let read = |i: usize| {
            let name = word(names[i], &format!("names[{i}]"))?;
            let data = list(datas[i].cast::<u8>(), lengths[i], &format!("datas[{i}]"))?;
            Ok((name.to_owned(), data.to_vec()))
        };
        (0..count).map(read).collect()
    }
}

/// A path as the system takes it: any bytes on Unix.
#[cfg(unix)]
fn native_path(path: &CStr) -> Result<&Path> {
    use std::os::unix::ffi::OsStrExt;
    Ok(Path::new(std::ffi::OsStr::from_bytes(path.to_bytes())))
}

/// A path as the system takes it: UTF-8 where paths are not bytes.
#[cfg(not(unix))]
fn native_path(path: &CStr) -> Result<&Path> {
    path.to_str().map(Path::new).map_err(|_| Error::new(ErrorKind::InvalidUtf8, "path is not valid UTF-8"))
}
