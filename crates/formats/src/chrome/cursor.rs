//! A place in a buffer of JSON text, and the steps that can be taken from it.
//!
//! Steps are lenient where real traces are broken (raw control characters, bad escapes, anything in what is
//! skipped) and never look past the buffer: at its end they answer [`Stop::Incomplete`], and the caller tries
//! again from the start of the event when more text is there.

use super::block::{Block, Bytes, WIDTH};
use super::number;

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
    buffer: Bytes<'t>,
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
    fn block(&self, ahead: usize) -> Step<Block> {
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

    /// Up to eight digits from `pos` on, and how many they are.
    #[inline(always)]
    fn digits(&self, pos: usize) -> (u64, usize) {
        leading_digits(self.buffer.word(pos))
    }

    /// Up to sixteen digits from `pos` on; a count of 16 may mean that there are more.
    #[inline(always)]
    fn long_digits(&self, pos: usize) -> (u64, usize) {
        let (high, count) = self.digits(pos);
        if count < 8 {
            return (high, count);
        }
        let (low, more) = self.digits(pos + 8);
        (high * POWERS_OF_TEN[more] + low, 8 + more)
    }

    /// A plain number from zero up; `None` if it is anything else, and then the cursor has not moved.
    #[inline(always)]
    pub(super) fn plain_int(&mut self) -> Option<i64> {
        let word = self.buffer.word(self.pos);
        let (value, count) = leading_digits(word);
        if count < 8 {
            // A sign, a fraction or an exponent take the careful way.
            let next = (word >> (8 * count)) as u8;
            if count == 0 || !ENDS_NUMBER[next as usize] {
                return None;
            }
            self.pos += count;
            return Some(value as i64);
        }
        self.plain_long_int()
    }

    #[inline(always)]
    fn plain_long_int(&mut self) -> Option<i64> {
        let (value, count) = self.long_digits(self.pos);
        let end = self.pos + count;
        if !ENDS_NUMBER[self.buffer.byte(end) as usize] {
            return None;
        }
        self.pos = end;
        Some(value as i64)
    }

    /// An integer in whatever form; `None` for what is none (`null`, a list, a word).
    #[inline(always)]
    pub(super) fn int(&mut self) -> Step<Option<i64>> {
        match self.plain_int() {
            Some(value) => Ok(Some(value)),
            None => self.unusual_number(number::integer),
        }
    }

    /// Microseconds → nanoseconds. The usual forms, `123` and `123.456`, are read in a few instructions.
    #[inline(always)]
    pub(super) fn us(&mut self) -> Step<Option<i64>> {
        let (whole, count) = self.long_digits(self.pos);
        let mut ns = whole * 1000;
        let mut pos = self.pos + count;
        let mut usual = count > 0;
        if self.buffer.byte(pos) == b'.' {
            let (fraction, decimals) = self.digits(pos + 1);
            usual &= matches!(decimals, 1..=3);
            ns += fraction * POWERS_OF_TEN[3_usize.saturating_sub(decimals)];
            pos += 1 + decimals;
        }
        if !usual || !ENDS_NUMBER[self.buffer.byte(pos) as usize] || ns > i64::MAX as u64 {
            return self.unusual_number(number::us_to_ns);
        }
        self.pos = pos;
        Ok(Some(ns as i64))
    }

    /// A number with or without a fraction. Up to 15 digits both the digits and the power of ten are exact, so
    /// that their quotient is the nearest float there is.
    #[inline(always)]
    pub(super) fn float(&mut self) -> Step<Option<f64>> {
        const POWERS: [f64; 16] =
            [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
        let negative = self.byte() == b'-';
        let mut pos = self.pos + usize::from(negative);
        let first = pos;
        let mut mantissa: u64 = 0;
        let mut point = None;
        loop {
            let byte = self.buffer.byte(pos);
            let digit = byte.wrapping_sub(b'0');
            if digit <= 9 {
                mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
            } else if byte == b'.' && point.is_none() {
                point = Some(pos);
            } else {
                break;
            }
            pos += 1;
        }
        let digits = pos - first - usize::from(point.is_some());
        if digits == 0 || digits > 15 || matches!(self.buffer.byte(pos), b'e' | b'E' | b'.') {
            return self.unusual_number(number::float);
        }
        let value = mantissa as f64 / POWERS[point.map_or(0, |point| pos - point - 1)];
        self.pos = pos;
        Ok(Some(if negative { -value } else { value }))
    }

    /// A number that has a sign or an exponent, is quoted or very long, or is none at all.
    #[inline(always)]
    fn unusual_number<T>(&mut self, parse: fn(&[u8]) -> Option<T>) -> Step<Option<T>> {
        let (value, pos) = self.careful_number(parse)?;
        self.pos = pos;
        Ok(value)
    }

    #[cold]
    #[inline(never)]
    fn careful_number<T>(mut self, parse: fn(&[u8]) -> Option<T>) -> Step<(Option<T>, usize)> {
        let value = match self.byte() {
            b'"' => {
                self.pos += 1;
                let string = self.string()?;
                if string.escaped { None } else { parse(string.text) }
            }
            b'[' | b'{' => {
                self.value()?;
                None
            }
            _ => parse(self.scalar()?),
        };
        Ok((value, self.pos))
    }

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

/// Bytes that may follow a number: a comma, a closing bracket, white space.
const ENDS_NUMBER: [bool; 256] = {
    let mut ends = [false; 256];
    let mut byte = 0;
    while byte <= b' ' {
        ends[byte as usize] = true;
        byte += 1;
    }
    ends[b',' as usize] = true;
    ends[b'}' as usize] = true;
    ends[b']' as usize] = true;
    ends
};

const POWERS_OF_TEN: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The number that the ASCII digits at the front of eight bytes make, and how many they are.
#[inline(always)]
fn leading_digits(bytes: u64) -> (u64, usize) {
    let word = bytes ^ 0x3030_3030_3030_3030;
    // A high nibble is left where a byte is no digit; a carry can only come from behind the first of those.
    let other = (word | word.wrapping_add(0x0606_0606_0606_0606)) & 0xf0f0_f0f0_f0f0_f0f0;
    let count = (other.trailing_zeros() / 8) as usize;
    if count == 0 {
        return (0, 0);
    }
    // Digits to the end of the word, zeros before them; then pairs, fours and the whole at once.
    let digits = word << (64 - 8 * count);
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    (low.wrapping_add(high) >> 32, count)
}

#[cfg(test)]
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method alone is not general over lifetimes"
)]
mod tests {
    use super::*;

    fn padded(text: &[u8]) -> Vec<u8> {
        let mut buffer = text.to_vec();
        buffer.resize(text.len() + PADDING, 0);
        buffer
    }

    fn at_start<T>(text: &[u8], step: impl Fn(&mut Cursor<'_>) -> T) -> (T, usize) {
        let buffer = padded(text);
        let mut cursor = Cursor::new(&buffer, 0, text.len());
        let result = step(&mut cursor);
        (result, cursor.pos)
    }

    #[test]
    fn times_are_read_exactly_in_every_form() {
        for (text, ns) in [
            ("1428625731896.179,", Some(1_428_625_731_896_179)),
            ("1679055451545746,", Some(1_679_055_451_545_746_000)),
            ("9999999999999999.999,", Some(i64::MAX)),
            ("7.5}", Some(7_500)),
            ("12345678.1234,", Some(12_345_678_123)),
            ("-3.25,", Some(-3_250)),
            ("\"42.5\",", Some(42_500)),
            ("1e3,", Some(1_000_000)),
            ("NaN,", None),
            ("null}", None),
            ("[1,2],", None),
        ] {
            let (got, pos) = at_start(text.as_bytes(), |c| c.us());
            assert_eq!((got, pos), (Ok(ns), text.len() - 1), "{text}");
        }
    }

    #[test]
    fn floats_are_the_nearest_to_their_text() {
        for text in
            ["0.0013851614578824344", "12.8", "102.4", "0.006757", "37", "-1.5", "3.14159265358979", "1e-3"]
        {
            let (got, pos) = at_start(format!("{text},").as_bytes(), |c| c.float());
            assert_eq!((got, pos), (Ok(Some(text.parse::<f64>().unwrap())), text.len()), "{text}");
        }
        assert_eq!(at_start(b"null,", |c| c.float()).0, Ok(None));
    }

    #[test]
    fn digits_are_read_up_to_the_first_other_byte() {
        for (text, value, count) in [
            (b"00000000", 0, 8),
            (b"12345678", 12_345_678, 8),
            (b"1234567.", 1_234_567, 7),
            (b"1234567:", 1_234_567, 7),
            (b"12,34567", 12, 2),
            (b"7}\xca\xff5678", 7, 1),
            (b"/1234567", 0, 0),
        ] {
            assert_eq!(leading_digits(u64::from_le_bytes(*text)), (value, count), "{}", text.escape_ascii());
        }
    }

    #[test]
    fn integers_of_every_length_are_read() {
        for length in 1..=20 {
            let text: String = "98765432109876543210"[..length].to_owned();
            let expected = text.parse::<i64>().ok().or(text.parse::<u64>().ok().map(|v| v as i64));
            let (got, pos) = at_start(format!("{text},").as_bytes(), |c| c.int());
            assert_eq!((got, pos), (Ok(expected), length), "{text}");
            let (got, _) = at_start(format!("-{text}}}").as_bytes(), |c| c.int());
            assert_eq!(got, Ok(format!("-{text}").parse::<i64>().ok()), "-{text}");
        }
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
