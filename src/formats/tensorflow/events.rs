//! How is a number that changes from step to step told to TensorBoard?
//!
//! An event file is a row of records: a length, its checksum, that many bytes, theirs (`tensorflow/core/lib/io/record_writer.h`). The bytes are a
//! message `Event` (`tensorflow/core/util/event.proto`), of which three forms are written: the version of the format, the beginning of a session, and
//! scalars under their tags. A record is handed to the system as a whole, so that a run that is killed leaves at most its last one short, which
//! TensorBoard passes over.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::crc32c;
use crate::error::{Error, ErrorKind, Result};

/// What names of event files begin with. The time that follows puts the files of a folder in order.
const BEGINNING: &str = "events.out.tfevents.";

/// A file of events that is being written.
#[derive(Debug)]
pub struct EventFile {
    path: PathBuf,
    file: File,
}

impl EventFile {
    /// Begins a file in `folder`, behind those that are there. What they say of steps from `first` on does not count any more.
    ///
    /// # Errors
    /// `Io` where the folder does not take it.
    pub fn create(folder: &Path, first: u64) -> Result<EventFile> {
        let earlier = fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            name.strip_prefix(BEGINNING)?.split('.').next()?.parse::<u64>().ok()
        });
        let number = now().as_secs().max(earlier.max().map_or(0, |last| last + 1));
        let path = folder.join(format!("{BEGINNING}{number:010}.cloze"));
        let file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(|e| refused(&path, &e))?;
        let mut events = EventFile { path, file };
        events.write(0, 3, b"brain.Event:2")?;
        // SessionLog { status: START }
        events.write(first, 7, &varint_field(1, 1))?;
        Ok(events)
    }

    /// Tells what the tags are at `step`.
    ///
    /// # Errors
    /// `Io` where the file cannot be written.
    pub fn scalars(&mut self, step: u64, scalars: &[(String, f32)]) -> Result<()> {
        self.write(step, 5, &summary(scalars))
    }

    /// Writes an event whose field `what` is `bytes`.
    fn write(&mut self, step: u64, what: u8, bytes: &[u8]) -> Result<()> {
        let record = record(&event(now().as_secs_f64(), step, what, bytes));
        self.file.write_all(&record).map_err(|e| refused(&self.path, &e))
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn refused(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{}: {error}", path.display()))
}

fn event(time: f64, step: u64, what: u8, bytes: &[u8]) -> Vec<u8> {
    let time = [&[1 << 3 | 1][..], &time.to_le_bytes()].concat();
    let step = if step == 0 { Vec::new() } else { varint_field(2, step) };
    [time, step, bytes_field(what, bytes)].concat()
}

fn summary(scalars: &[(String, f32)]) -> Vec<u8> {
    let value = |(tag, number): &(String, f32)| {
        let number = [&[2 << 3 | 5][..], &number.to_le_bytes()].concat();
        bytes_field(1, &[bytes_field(1, tag.as_bytes()), number].concat())
    };
    scalars.iter().flat_map(value).collect()
}

fn record(bytes: &[u8]) -> Vec<u8> {
    let len = (bytes.len() as u64).to_le_bytes();
    [&len[..], &crc32c::masked(&len).to_le_bytes(), bytes, &crc32c::masked(bytes).to_le_bytes()].concat()
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn varint_field(field: u8, number: u64) -> Vec<u8> {
    [vec![field << 3], varint(number)].concat()
}

fn bytes_field(field: u8, bytes: &[u8]) -> Vec<u8> {
    [vec![field << 3 | 2], varint(bytes.len() as u64), bytes.to_vec()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Written by tensorboard 2.21.0: its `RecordWriter`, of `event_pb2.Event(wall_time=1.5, step=..., ...)`.
    #[test]
    fn records_are_those_of_tensorboard() {
        let scalars = [("train/loss".to_owned(), 2.25), ("eval/perplexity".to_owned(), -0.5)];
        assert_eq!(
            hex(&record(&event(1.5, 300, 5, &summary(&scalars)))),
            "39000000000000008b0737f109000000000000f83f10ac022a2b0a110a0a747261696e2f6c6f737315000010400a160a0f6576616c2f706572706c657869747915000000bf86684ae3"
        );
        assert_eq!(
            hex(&record(&event(1.5, 0, 3, b"brain.Event:2"))),
            "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c"
        );
        assert_eq!(hex(&record(&event(1.5, 7, 7, &varint_field(1, 1)))), "0f000000000000006d532b0909000000000000f83f10073a020801774771c7");
    }

    #[test]
    fn files_of_one_second_stand_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let first = EventFile::create(folder.path(), 0).unwrap();
        let second = EventFile::create(folder.path(), 8).unwrap();
        assert!(first.path < second.path, "{first:?} {second:?}");
    }
}
