//! Who keeps the bytes of a tensor alive?
//!
//! A [`Bytes`] is a range of a shared owner (a mapped file, a caller's copied buffer): cheap to clone and to narrow, and the
//! mapping goes when its last range goes.

use std::ops::{Deref, Range};
use std::sync::Arc;

/// Whoever keeps bytes alive.
pub trait Owner: AsRef<[u8]> + Send + Sync {
    /// Told that nobody will read the bytes `range` soon: a mapping lets go of their pages, which come back from the file if
    /// they are read after all.
    fn release(&self, _range: Range<usize>) {}
}

/// Memory of this process stays where it is.
struct Memory<T>(T);

impl<T: AsRef<[u8]>> AsRef<[u8]> for Memory<T> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl<T: AsRef<[u8]> + Send + Sync> Owner for Memory<T> {}

/// A shared, immutable range of bytes.
#[derive(Clone)]
pub struct Bytes {
    owner: Arc<dyn Owner>,
    range: Range<usize>,
    mapped: bool,
}

impl Bytes {
    /// All bytes of `owner`, which lives in this process's memory.
    pub fn owned(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self::new(Arc::new(Memory(owner)), false)
    }

    /// All bytes of `owner`, a file mapping that other processes share.
    pub fn mapped(owner: impl Owner + 'static) -> Self {
        Self::new(Arc::new(owner), true)
    }

    fn new(owner: Arc<dyn Owner>, mapped: bool) -> Self {
        let range = 0..(*owner).as_ref().len();
        Bytes { owner, range, mapped }
    }

    /// The bytes `range` of this range, or `None` where it reaches past the end.
    pub fn slice(&self, range: Range<usize>) -> Option<Bytes> {
        (range.start <= range.end && range.end <= self.range.len()).then(|| Bytes {
            owner: Arc::clone(&self.owner),
            range: self.range.start + range.start..self.range.start + range.end,
            mapped: self.mapped,
        })
    }

    /// Says that nobody will read these bytes soon, so that a mapping need not keep them in memory. Never changes what is read.
    pub fn release(&self) {
        self.owner.release(self.range.clone());
    }

    /// Whether the bytes are a file mapping (counted as shared memory) rather than memory of this process.
    pub fn is_mapped(&self) -> bool {
        self.mapped
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &(*self.owner).as_ref()[self.range.clone()]
    }
}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bytes({} {})", self.len(), if self.mapped { "mapped" } else { "owned" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_narrow_and_never_reach_outside() {
        let all = Bytes::owned(vec![0u8, 1, 2, 3, 4]);
        let middle = all.slice(1..4).unwrap();
        assert_eq!(&*middle, &[1, 2, 3]);
        assert_eq!(&*middle.slice(1..2).unwrap(), &[2]);
        assert!(middle.slice(0..4).is_none());
        #[expect(clippy::reversed_empty_ranges, reason = "a hostile file may say so")]
        let reversed = middle.slice(2..1);
        assert!(reversed.is_none());
    }
}
