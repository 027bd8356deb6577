//! How does a file become a stream of its text's bytes?
//!
//! gzip and Zstandard are told by their first bytes, whatever the file is called, and may consist of several parts, as `cat a.gz b.gz`
//! makes them. The bytes as they lie on the disk are hashed while they pass, so that a later change is noticed.

use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use xxhash_rust::xxh3::Xxh3;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTANDARD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const BUFFER: usize = 1 << 17;

/// The bytes of a file as they were read from the disk: how many there are, and their XXH3.
#[derive(Clone)]
pub(in crate::train) struct Seen(Arc<Mutex<(u64, Xxh3)>>);

impl Seen {
    /// Bytes and XXH3 of what has been read.
    pub fn digest(&self) -> (u64, u64) {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (seen.0, seen.1.digest())
    }
}

/// Opens a file for reading its text.
pub(in crate::train) fn open(path: &Path) -> Result<(Box<dyn BufRead>, Seen)> {
    if !path.metadata()?.is_file() {
        return Err(Error::other("not a regular file"));
    }
    let seen = Seen(Arc::new(Mutex::new((0, Xxh3::new()))));
    let raw = Hashing { file: File::open(path)?, seen: seen.clone() };
    let mut raw = BufReader::with_capacity(BUFFER, raw);
    let first = raw.fill_buf()?;
    let text: Box<dyn BufRead> = if first.starts_with(GZIP) {
        Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(raw)))
    } else if first.starts_with(ZSTANDARD) {
        let frames = Frames { source: raw, decoder: FrameDecoder::new(), open: false };
        Box::new(BufReader::with_capacity(BUFFER, frames))
    } else {
        Box::new(raw)
    };
    Ok((text, seen))
}

struct Hashing {
    file: File,
    seen: Seen,
}

impl Read for Hashing {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let read = self.file.read(buffer)?;
        let mut seen = self.seen.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.0 += read as u64;
        seen.1.update(&buffer[..read]);
        Ok(read)
    }
}

/// The frames of Zstandard, one after the other.
struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    open: bool,
}

impl<R: BufRead> Frames<R> {
    /// Begins the next frame, if there is one.
    fn next(&mut self) -> Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.source) {
                Ok(()) => {
                    self.open = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    std::io::copy(&mut self.source.by_ref().take(u64::from(length)), &mut std::io::sink())?;
                }
                Err(e) => return Err(Error::new(ErrorKind::InvalidData, e.to_string())),
            }
        }
        Ok(false)
    }

    fn close(&mut self) -> Result<()> {
        self.open = false;
        let (stored, found) = (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
        if stored.is_some() && stored != found {
            return Err(Error::new(ErrorKind::InvalidData, "the checksum of a frame is wrong: the file is damaged"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            if !self.open && !self.next()? {
                return Ok(0);
            }
            if self.decoder.can_collect() > 0 || buffer.is_empty() {
                return self.decoder.read(buffer);
            }
            if self.decoder.is_finished() {
                self.close()?;
            } else {
                let blocks = self.decoder.decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1));
                blocks.map_err(|e| Error::new(ErrorKind::InvalidData, e.to_string()))?;
            }
        }
    }
}
