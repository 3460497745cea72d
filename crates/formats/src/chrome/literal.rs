//! Runs of bytes that the text is expected to repeat.

use super::block::{Block, WIDTH};
use super::cursor::Cursor;

/// Bytes to compare with, in whole blocks; the masks say which bytes of a block count. Two blocks hold nearly
/// every literal and are compared at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Literal {
    head: [[u8; WIDTH]; 2],
    head_mask: u32,
    rest: Box<[([u8; WIDTH], u32)]>,
    pub(super) length: usize,
}

impl Literal {
    pub(super) fn new(bytes: &[u8]) -> Literal {
        let masked = |bytes: &[u8]| {
            let mut block = [0; WIDTH];
            block[..bytes.len()].copy_from_slice(bytes);
            (block, ((1u64 << bytes.len()) - 1) as u32)
        };
        let mut blocks = bytes.chunks(WIDTH).map(masked);
        let (first, first_mask) = blocks.next().unwrap_or_default();
        let (second, second_mask) = blocks.next().unwrap_or_default();
        Literal {
            head: [first, second],
            head_mask: first_mask | second_mask << 16,
            rest: blocks.collect(),
            length: bytes.len(),
        }
    }
}

impl Cursor<'_> {
    /// Whether the next bytes are those of a literal.
    #[inline(always)]
    pub(super) fn is_literal(&self, literal: &Literal) -> bool {
        let (Ok(first), Ok(second)) = (self.block(0), self.block(WIDTH)) else { return false };
        let same =
            first.same(Block::load(&literal.head[0])) | second.same(Block::load(&literal.head[1])) << 16;
        if same & literal.head_mask != literal.head_mask {
            return false;
        }
        literal.rest.is_empty() || self.is_rest(&literal.rest)
    }

    fn is_rest(&self, rest: &[([u8; WIDTH], u32)]) -> bool {
        rest.iter().enumerate().all(|(i, (want, mask))| {
            self.block((i + 2) * WIDTH).is_ok_and(|have| have.same(Block::load(want)) & mask == *mask)
        })
    }
}
