//! Sixteen bytes at a time: the loads and comparisons the scanner is made of.
//!
//! Vector instructions and unchecked loads need `unsafe`; each block says why it is sound. On other processors
//! than x86-64 plain code does the same; the compiler makes vector code of it where it can.

pub(super) const WIDTH: usize = 16;

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vector instructions; each block says why it is sound")]
mod imp {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128,
        _mm_set1_epi8,
    };

    #[derive(Clone, Copy)]
    pub(in super::super) struct Block(__m128i);

    // Every x86-64 processor has SSE2, so these instructions are always there; beyond that only the load
    // touches memory.
    impl Block {
        #[inline(always)]
        pub(in super::super) fn load(bytes: &[u8; super::WIDTH]) -> Block {
            // SAFETY: the reference guarantees 16 readable bytes, the load needs no alignment, and every bit
            // pattern is a valid vector.
            Block(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
        }

        /// Bit i is set where byte i equals `byte`.
        #[inline(always)]
        pub(in super::super) fn equals(self, byte: u8) -> u32 {
            // SAFETY: registers only, SSE2 is part of x86-64.
            unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(self.0, _mm_set1_epi8(byte as i8))) as u32 }
        }

        #[inline(always)]
        pub(in super::super) fn equals_either(self, one: u8, other: u8) -> u32 {
            // SAFETY: registers only, SSE2 is part of x86-64.
            unsafe {
                let one = _mm_cmpeq_epi8(self.0, _mm_set1_epi8(one as i8));
                let other = _mm_cmpeq_epi8(self.0, _mm_set1_epi8(other as i8));
                _mm_movemask_epi8(_mm_or_si128(one, other)) as u32
            }
        }

        /// Bit i is set where byte i is at most `byte`.
        #[inline(always)]
        pub(in super::super) fn at_most(self, byte: u8) -> u32 {
            // SAFETY: registers only, SSE2 is part of x86-64.
            unsafe {
                _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(self.0, _mm_set1_epi8(byte as i8)), self.0))
                    as u32
            }
        }

        /// The block with bit 5 of every byte set, which makes `{` of `[` and `}` of `]`.
        #[inline(always)]
        pub(in super::super) fn fold_brackets(self) -> Block {
            // SAFETY: registers only, SSE2 is part of x86-64.
            Block(unsafe { _mm_or_si128(self.0, _mm_set1_epi8(0x20)) })
        }

        /// Bit i is set where byte i of both blocks is the same.
        #[inline(always)]
        pub(in super::super) fn same(self, other: Block) -> u32 {
            // SAFETY: registers only, SSE2 is part of x86-64.
            unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(self.0, other.0)) as u32 }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod imp {
    #[derive(Clone, Copy)]
    pub(in super::super) struct Block([u8; super::WIDTH]);

    impl Block {
        #[inline(always)]
        pub(in super::super) fn load(bytes: &[u8; super::WIDTH]) -> Block {
            Block(*bytes)
        }

        #[inline(always)]
        fn mask(self, test: impl Fn(usize, u8) -> bool) -> u32 {
            self.0.iter().enumerate().fold(0, |mask, (i, byte)| mask | u32::from(test(i, *byte)) << i)
        }

        pub(in super::super) fn equals(self, byte: u8) -> u32 {
            self.mask(|_, b| b == byte)
        }

        pub(in super::super) fn equals_either(self, a: u8, b: u8) -> u32 {
            self.mask(|_, byte| byte == a || byte == b)
        }

        pub(in super::super) fn at_most(self, byte: u8) -> u32 {
            self.mask(|_, b| b <= byte)
        }

        pub(in super::super) fn fold_brackets(self) -> Block {
            Block(self.0.map(|b| b | 0x20))
        }

        pub(in super::super) fn same(self, other: Block) -> u32 {
            self.mask(|i, b| b == other.0[i])
        }
    }
}

pub(super) use imp::Block;

/// A buffer that can be read a block at a time up to a little before its end. Nothing can be read outside.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'t> {
    bytes: &'t [u8],
    /// The last place from which a whole block can be loaded.
    last: usize,
}

#[expect(unsafe_code, reason = "loads from places that are compared with the buffer's end just before")]
impl<'t> Bytes<'t> {
    /// `None` if the buffer is shorter than a block.
    pub(super) fn new(bytes: &'t [u8]) -> Option<Bytes<'t>> {
        Some(Bytes { bytes, last: bytes.len().checked_sub(WIDTH)? })
    }

    pub(super) fn len(self) -> usize {
        self.bytes.len()
    }

    pub(super) fn slice(self, from: usize, to: usize) -> &'t [u8] {
        &self.bytes[from..to]
    }

    /// The byte at a place; zero outside of the buffer.
    #[inline(always)]
    pub(super) fn byte(self, at: usize) -> u8 {
        if at > self.last {
            return self.bytes.get(at).copied().unwrap_or(0);
        }
        // SAFETY: `last` is less than the length.
        unsafe { *self.bytes.get_unchecked(at) }
    }

    /// Eight bytes from a place on, the first the lowest; zero if they are not all there.
    #[inline(always)]
    pub(super) fn word(self, at: usize) -> u64 {
        if at > self.last {
            return 0;
        }
        // SAFETY: 16 bytes from `last` on lie within the slice, and so do 8 bytes from any place before it.
        u64::from_le_bytes(unsafe { self.bytes.as_ptr().add(at).cast::<[u8; 8]>().read() })
    }

    #[inline(always)]
    pub(super) fn block(self, at: usize) -> Option<Block> {
        if at > self.last {
            return None;
        }
        // SAFETY: 16 bytes from `last` on lie within the slice, and so do 16 bytes from any place before it.
        Some(Block::load(unsafe { &*self.bytes.as_ptr().add(at).cast::<[u8; WIDTH]>() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_read_outside_of_the_buffer() {
        let bytes = Bytes::new(b"0123456789abcdefXY").unwrap();
        assert_eq!((bytes.byte(17), bytes.byte(18), bytes.byte(usize::MAX)), (b'Y', 0, 0));
        assert_eq!(bytes.word(2), u64::from_le_bytes(*b"23456789"));
        assert_eq!(bytes.word(11), 0);
        assert!(bytes.block(2).is_some() && bytes.block(3).is_none() && bytes.block(usize::MAX).is_none());
        assert!(Bytes::new(b"short").is_none());
    }

    #[test]
    fn masks_name_the_matching_bytes() {
        let block = Block::load(b"a\"b\\ [x]{y}\t\0zzz");
        assert_eq!(block.equals(b'"'), 1 << 1);
        assert_eq!(block.equals_either(b'"', b'\\'), 1 << 1 | 1 << 3);
        assert_eq!(block.at_most(b' '), 1 << 4 | 1 << 11 | 1 << 12);
        assert_eq!(block.fold_brackets().equals(b'{'), 1 << 5 | 1 << 8);
        assert_eq!(block.same(Block::load(b"a\"b\\ (x){y}\t\0zz!")), 0xffff & !(1 << 5 | 1 << 7 | 1 << 15));
    }
}
