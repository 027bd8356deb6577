//! Memory for numbers: zeroed, on cache lines, refused instead of aborting.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::error::{Error, ErrorKind, Result};

/// A fixed number of f32, 64-byte aligned, zero at first.
pub(super) struct Buffer {
    start: NonNull<f32>,
    len: usize,
}

/// Alignment of every buffer.
const LINE: usize = 64;
const LARGE_PAGE: usize = 2 << 20;

/// Asks Linux to back whole large pages of the buffer with such: weights are read in long lines, and each small page costs an
/// address translation. A refusal changes nothing but speed. (The last, partial page stays small: no memory is wasted.)
#[cfg(target_os = "linux")]
fn prefer_large_pages(start: NonNull<f32>, layout: Layout) {
    let bytes = layout.size() / LARGE_PAGE * LARGE_PAGE;
    if bytes > 0 {
        // SAFETY: the range lies in memory that this buffer just allocated, on a page boundary; advice changes no content.
        unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn prefer_large_pages(_: NonNull<f32>, _: Layout) {}

impl Buffer {
    /// `len` zeros, or `OutOfMemory`.
    pub(super) fn zeroed(len: usize) -> Result<Buffer> {
        let refuse = || {
            Error::new(
                ErrorKind::OutOfMemory,
                format!("{} bytes could not be allocated; use smaller batches or shorter texts", len.saturating_mul(4)),
            )
        };
        if len == 0 {
            return Ok(Buffer { start: NonNull::dangling(), len });
        }
        let layout = Self::layout(len).ok_or_else(refuse)?;
        // SAFETY: the layout has a size above zero.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start.cast()).ok_or_else(refuse)?;
        prefer_large_pages(start, layout);
        Ok(Buffer { start, len })
    }

    /// Cache lines for small buffers, large pages for large ones.
    fn layout(len: usize) -> Option<Layout> {
        let bytes = len.checked_mul(4)?;
        Layout::from_size_align(bytes, if bytes < LARGE_PAGE { LINE } else { LARGE_PAGE }).ok()
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.len * 4
    }

    /// The first number, for kernels that write disjoint parts from several threads.
    pub(super) fn as_mut_pointer(&mut self) -> *mut f32 {
        self.start.as_ptr()
    }
}

impl Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        // SAFETY: `start` points to `len` initialised numbers owned by self (dangling but aligned for none).
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as in `deref`, and self is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let (true, Some(layout)) = (self.len > 0, Self::layout(self.len)) {
            // SAFETY: allocated in `zeroed` with this very layout.
            unsafe { dealloc(self.start.as_ptr().cast(), layout) }
        }
    }
}

// SAFETY: a Buffer owns plain numbers; sharing and sending follow Rust's rules for `&` and `&mut`.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_zero_aligned_and_refuse_the_impossible() {
        let mut b = Buffer::zeroed(1000).unwrap();
        assert_eq!(b.as_mut_pointer() as usize % LINE, 0);
        assert!(b.iter().all(|x| *x == 0.0));
        b[999] = 1.0;
        assert_eq!(b.bytes(), 4000);
        assert!(Buffer::zeroed(0).unwrap().is_empty());
        for len in [usize::MAX, usize::MAX / 4, 1 << 50] {
            assert_eq!(Buffer::zeroed(len).err().map(|e| e.kind()), Some(ErrorKind::OutOfMemory));
        }
    }
}
