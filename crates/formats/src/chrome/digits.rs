//! Numbers in the text: eight digits at a time where they look as usual, with care where they do not.

use super::cursor::{Cursor, Step};
use super::number;

impl Cursor<'_> {
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
        if digits == 0 || digits > 15 || !ENDS_NUMBER[self.buffer.byte(pos) as usize] {
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
    use super::super::cursor::tests::at_start;
    use super::*;

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
}
