//! A place in a buffer of JSON text, and the steps that can be taken from it.
//!
//! Steps are lenient where real traces are broken (raw control characters, bad escapes, anything in what is
//! skipped) and never look past the buffer: at its end they answer [`Stop::Incomplete`], and the caller tries
//! again from the start of the event when more text is there.

use super::block::{Block, Bytes, WIDTH};

/// Zero bytes that follow the text in every buffer, so that a block can be loaded anywhere in the text.
pub(crate) const PADDING: usize = 64;

/// Why a step was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The text ends here; more may follow.
    Incomplete,
    /// This is not the JSON that was expected.
    Bad,
}

pub(super) type Step<T> = Result<T, Stop>;

/// A string as it stands in the text, without its quotes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawString<'t> {
    pub(super) text: &'t [u8],
    pub(super) escaped: bool,
}

/// Small and copied about: a cursor that no cold function holds a reference to lives in registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'t> {
    /// The text and its padding.
    pub(super) buffer: Bytes<'t>,
    /// Where the text ends.
    end: usize,
    pub(super) pos: usize,
}

impl<'t> Cursor<'t> {
    /// `buffer` is text up to `end`, then at least [`PADDING`] zero bytes.
    pub(super) fn new(buffer: &'t [u8], pos: usize, end: usize) -> Cursor<'t> {
        debug_assert!(buffer.len() >= end + PADDING);
        // A buffer too short for its padding is taken as empty.
        let buffer =
            Bytes::new(buffer).unwrap_or_else(|| Bytes::new(&[0; PADDING]).expect("longer than a block"));
        Cursor { buffer, end: end.min(buffer.len()), pos }
    }

    #[inline(always)]
    pub(super) fn byte(&self) -> u8 {
        self.buffer.byte(self.pos)
    }

    #[inline(always)]
    pub(super) fn block(&self, ahead: usize) -> Step<Block> {
        self.buffer.block(self.pos + ahead).ok_or(Stop::Incomplete)
    }

    #[inline(always)]
    pub(super) fn is_at_end(&self) -> bool {
        self.pos >= self.end
    }

    /// The last step took in padding: what it read is not text.
    #[inline(always)]
    pub(super) fn is_past_end(&self) -> bool {
        self.pos > self.end
    }

    /// The same buffer, at another place.
    pub(super) fn rewound(&self, pos: usize) -> Cursor<'t> {
        Cursor { pos, ..*self }
    }

    /// The text from here on.
    pub(super) fn rest(&self) -> &'t [u8] {
        self.buffer.slice(self.pos.min(self.end), self.end)
    }

    pub(super) fn jump_to_end(&mut self) {
        self.pos = self.end;
    }

    /// What it means that the byte here is not the one that was expected.
    #[inline(always)]
    pub(super) fn unexpected<T>(&self) -> Step<T> {
        Err(if self.is_at_end() { Stop::Incomplete } else { Stop::Bad })
    }

    pub(super) fn text(&self, from: usize, to: usize) -> &'t [u8] {
        self.buffer.slice(from, to)
    }

    /// Passes over white space (and other control characters, which some producers leave in).
    #[inline(always)]
    pub(super) fn skip_space(&mut self) {
        if self.byte() > b' ' {
            return;
        }
        self.pos += 1;
        while !self.is_at_end() {
            let Ok(block) = self.block(0) else { break };
            let ink = !block.at_most(b' ') & 0xffff;
            if ink != 0 {
                self.pos += ink.trailing_zeros() as usize;
                return;
            }
            self.pos += WIDTH;
        }
        self.pos = self.pos.min(self.end);
    }

    #[inline(always)]
    pub(super) fn expect(&mut self, byte: u8) -> Step<()> {
        if self.byte() != byte {
            return self.unexpected();
        }
        self.pos += 1;
        Ok(())
    }

    /// From just behind an opening quote to just behind the closing one.
    #[inline(always)]
    pub(super) fn string(&mut self) -> Step<RawString<'t>> {
        let start = self.pos;
        let mut escaped = false;
        loop {
            let hit = self.block(0)?.equals_either(b'"', b'\\');
            if hit == 0 {
                self.pos += WIDTH;
                if self.is_at_end() {
                    return Err(Stop::Incomplete);
                }
                continue;
            }
            self.pos += hit.trailing_zeros() as usize;
            if self.is_at_end() {
                return Err(Stop::Incomplete);
            }
            if self.byte() == b'"' {
                let text = self.buffer.slice(start, self.pos);
                self.pos += 1;
                return Ok(RawString { text, escaped });
            }
            escaped = true;
            self.pos += 2;
            if self.is_at_end() {
                return Err(Stop::Incomplete);
            }
        }
    }

    /// Passes over a number, `true`, `null`, `NaN` and the like; answers its text.
    #[inline(always)]
    pub(super) fn scalar(&mut self) -> Step<&'t [u8]> {
        let start = self.pos;
        loop {
            let block = self.block(0)?;
            let stop = block.at_most(b' ') | block.equals(b',') | block.fold_brackets().equals(b'}');
            if stop != 0 {
                self.pos += stop.trailing_zeros() as usize;
                if self.is_at_end() {
                    return Err(Stop::Incomplete);
                }
                if self.pos == start {
                    return Err(Stop::Bad);
                }
                return Ok(self.buffer.slice(start, self.pos));
            }
            self.pos += WIDTH;
        }
    }

    /// From just behind an opening bracket to just behind the one that closes it, strings respected.
    ///
    /// Works on 64 bytes at a time: quotes make a mask of what is inside a string, brackets outside of it are
    /// counted. Lists of a few numbers, by far the most common, end within the first block.
    #[inline(always)]
    pub(super) fn skip_container(&mut self) -> Step<()> {
        let mut depth: u32 = 1;
        let mut in_string: u64 = 0;
        loop {
            let mut quotes = 0u64;
            let mut backslashes = 0u64;
            let mut opening = 0u64;
            let mut closing = 0u64;
            for i in 0..4 {
                let block = self.block(WIDTH * i)?;
                let folded = block.fold_brackets();
                quotes |= u64::from(block.equals(b'"')) << (16 * i);
                backslashes |= u64::from(block.equals(b'\\')) << (16 * i);
                opening |= u64::from(folded.equals(b'{')) << (16 * i);
                closing |= u64::from(folded.equals(b'}')) << (16 * i);
            }
            if backslashes != 0 {
                self.pos = self.skip_container_with_escapes(depth, in_string != 0)?;
                return Ok(());
            }
            // Bit i becomes the parity of the quotes up to i: inside a string or not.
            let mut inside = quotes;
            for shift in [1, 2, 4, 8, 16, 32] {
                inside ^= inside << shift;
            }
            inside ^= in_string;
            opening &= !inside;
            closing &= !inside;
            if closing.count_ones() < depth {
                depth = depth + opening.count_ones() - closing.count_ones();
            } else {
                while closing != 0 {
                    let at = closing.trailing_zeros();
                    let before = opening & ((1u64 << at) - 1);
                    opening ^= before;
                    depth = depth + before.count_ones() - 1;
                    if depth == 0 {
                        self.pos += at as usize + 1;
                        return if self.pos > self.end { Err(Stop::Incomplete) } else { Ok(()) };
                    }
                    closing &= closing - 1;
                }
                depth += opening.count_ones();
            }
            in_string = ((inside as i64) >> 63) as u64;
            self.pos += 64;
            if self.is_at_end() {
                return Err(Stop::Incomplete);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn skip_container_with_escapes(mut self, mut depth: u32, in_string: bool) -> Step<usize> {
        if in_string {
            self.string()?;
        }
        while !self.is_at_end() {
            let byte = self.byte();
            self.pos += 1;
            match byte {
                b'"' => {
                    self.string()?;
                }
                b'[' | b'{' => depth += 1,
                b']' | b'}' => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(self.pos);
                    }
                }
                _ => {}
            }
        }
        Err(Stop::Incomplete)
    }

    /// Passes over any value; answers its text.
    #[inline(always)]
    pub(super) fn value(&mut self) -> Step<&'t [u8]> {
        let start = self.pos;
        match self.byte() {
            b'"' => {
                self.pos += 1;
                self.string()?;
            }
            b'[' | b'{' => {
                self.pos += 1;
                self.skip_container()?;
            }
            _ => {
                self.scalar()?;
            }
        }
        Ok(self.buffer.slice(start, self.pos))
    }
}

#[cfg(test)]
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method alone is not general over lifetimes"
)]
pub(super) mod tests {
    use super::*;

    fn padded(text: &[u8]) -> Vec<u8> {
        let mut buffer = text.to_vec();
        buffer.resize(text.len() + PADDING, 0);
        buffer
    }

    pub(in super::super) fn at_start<T>(text: &[u8], step: impl Fn(&mut Cursor<'_>) -> T) -> (T, usize) {
        let buffer = padded(text);
        let mut cursor = Cursor::new(&buffer, 0, text.len());
        let result = step(&mut cursor);
        (result, cursor.pos)
    }

    #[test]
    fn containers_end_where_they_end() {
        let long = format!("1, [2, {{\"a]\": \"}}\"}}], {}] rest", "[3], ".repeat(40));
        let escaped = "\"\\\"]\", 2] rest";
        for text in ["] rest", "1, 2, 3] rest", &long, escaped] {
            let (got, pos) = at_start(text.as_bytes(), |c| c.skip_container());
            assert_eq!((got, pos), (Ok(()), text.len() - " rest".len()), "{text}");
            // Cut anywhere before its end, it is incomplete.
            for cut in 0..pos {
                let (got, _) = at_start(&text.as_bytes()[..cut], |c| c.skip_container());
                assert_eq!(got, Err(Stop::Incomplete), "{text} cut at {cut}");
            }
        }
    }

    #[test]
    fn strings_end_at_an_unescaped_quote() {
        let ((text, escaped), pos) = at_start(b"say \\\"hi\\\" to all of them\", next", |c| {
            let s = c.string().unwrap();
            (s.text.to_vec(), s.escaped)
        });
        assert_eq!((text.as_slice(), escaped, pos), (&b"say \\\"hi\\\" to all of them"[..], true, 26));
        assert_eq!(at_start(b"never ends \\", |c| c.string().map(|_| ())).0, Err(Stop::Incomplete));
    }
}
