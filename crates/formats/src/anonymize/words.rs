//! Text taken apart into words, of which those that are public stay.
//!
//! A word is a run of letters and digits. In names that follow a public pattern (kernels, operators, calls) it is
//! taken apart further, by case and digits, so that `acmeFusedKernel<128>` keeps what says what it does. What is not
//! in the list of public words is replaced, whatever stands around it.

use super::addresses;
use super::names::{Names, Sort};

/// Which numbers stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Digits {
    /// Those that are too short to be anybody's: sizes and places in a list, but no number of a job.
    Short,
    /// Also long ones that stand by themselves, as among the values of arguments.
    Alone,
    /// All.
    All,
}

/// So many digits say nothing about anybody.
pub(super) const SHORT: usize = 4;

/// A number behind one of these is somebody's, however short.
const NUMBERED: [&str; 10] = ["job", "jobid", "lsf", "pbs", "pid", "port", "slurm", "ticket", "uid", "user"];

pub(super) struct Filter<'v> {
    /// Whether a word, in lower case, is public.
    pub public: &'v dyn Fn(&str) -> bool,
    pub digits: Digits,
    /// What stands for words that are not taken apart, `_` being part of a word; otherwise for their parts.
    pub whole: Option<Sort>,
    /// Whether what looks like an address is one.
    pub addresses: bool,
}

impl Filter<'_> {
    pub(super) fn apply(&self, names: &mut Names, text: &str) -> String {
        let is_word = |c: char| c.is_alphanumeric() || self.whole.is_some() && c == '_';
        let mut out = String::with_capacity(text.len());
        let (mut rest, mut before) = (text, "");
        while let Some(start) = rest.find(is_word) {
            out.push_str(&rest[..start]);
            rest = &rest[start..];
            let address = if self.addresses { addresses::at(rest) } else { None };
            if let Some(length) = address {
                out.push_str(&names.of(Sort::Address, &rest[..length].to_ascii_lowercase()));
                rest = &rest[length..];
                continue;
            }
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let word = &rest[..end];
            out.push_str(&self.word(names, word, before));
            (before, rest) = (word, &rest[end..]);
        }
        // What is no word is punctuation and white space.
        out + rest
    }

    fn word(&self, names: &mut Names, word: &str, before: &str) -> String {
        let lower = word.to_lowercase();
        let numbered = NUMBERED.contains(&before.to_ascii_lowercase().as_str());
        if word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_') {
            let stays = self.digits == Digits::All
                || !numbered && (self.digits == Digits::Alone || word.len() <= SHORT);
            return if stays { word.to_owned() } else { names.of(Sort::Number, word) };
        }
        if (self.public)(&lower) {
            return word.to_owned();
        }
        if let Some(pointer) = lower.strip_prefix("0x")
            && !pointer.is_empty()
            && pointer.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            return if pointer.len() <= SHORT { word.to_owned() } else { names.of(Sort::Pointer, &lower) };
        }
        match self.whole {
            // `3e8` and `5x` are numbers.
            Some(_) if word.len() <= SHORT && is_number(&lower) => word.to_owned(),
            Some(sort) => names.of(sort, word),
            None => self.parts(names, word),
        }
    }

    fn parts(&self, names: &mut Names, word: &str) -> String {
        let parts = parts(word);
        let has_digits = word.bytes().any(|byte| byte.is_ascii_digit());
        let letters = parts.iter().filter(|part| is_letter(part) && !part.eq_ignore_ascii_case("x")).count();
        let is_hash = word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        if has_digits && self.digits != Digits::All && (letters > 1 || is_hash) {
            return names.part(word);
        }
        let stays = |part: &str| {
            if part.bytes().all(|byte| byte.is_ascii_digit()) {
                self.digits == Digits::All || part.len() <= SHORT
            } else {
                is_letter(part) || (self.public)(&part.to_lowercase())
            }
        };
        let is_digits = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
        let mut out = String::with_capacity(word.len());
        let mut i = 0;
        while i < parts.len() {
            // Digits beside a word that goes are part of it.
            let mut end = i;
            while parts.get(end).is_some_and(|part| is_digits(part) || !stays(part)) {
                end += 1;
            }
            if parts[i..end].iter().all(|part| stays(part)) {
                end = i + 1;
                out.push_str(parts[i]);
            } else {
                out.push_str(&names.part(&parts[i..end].concat()));
            }
            i = end;
        }
        out
    }
}

fn is_letter(part: &str) -> bool {
    part.len() == 1 && part.as_bytes()[0].is_ascii_alphabetic()
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'e' | b'x'))
}

/// `CUDAFunctor_add2d` is `CUDA`, `Functor`, `add`, `2`, `d`.
fn parts(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut previous) = (0, None::<char>);
    let mut chars = word.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let cuts = previous.is_some_and(|previous| {
            let next_is_lower = chars.peek().is_some_and(|(_, next)| next.is_lowercase());
            previous.is_ascii_digit() != c.is_ascii_digit()
                || previous.is_lowercase() && c.is_uppercase()
                || previous.is_uppercase() && c.is_uppercase() && next_is_lower
        });
        if cuts {
            parts.push(&word[start..at]);
            start = at;
        }
        previous = Some(c);
    }
    parts.push(&word[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC: [&str; 10] =
        ["void", "at", "cuda", "fused", "fwd", "gemm", "s16816gemm", "gpu", "rank", "rank_of"];

    fn filtered(digits: Digits, whole: Option<Sort>, texts: &[&str]) -> Vec<String> {
        let public = |word: &str| PUBLIC.contains(&word);
        let filter = Filter { public: &public, digits, whole, addresses: true };
        let mut names = Names::default();
        texts.iter().map(|text| filter.apply(&mut names, text)).collect()
    }

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(parts("CUDAFunctorAdd2d"), ["CUDA", "Functor", "Add", "2", "d"]);
        assert_eq!(parts("HtoD"), ["Hto", "D"]);
        assert_eq!(parts("ünïX1"), ["ünï", "X", "1"]);
    }

    #[test]
    fn parts_that_are_public_stay() {
        let texts = [
            "void at::acmeFusedFwd<128, true>(cuda*)",
            "acme_fused_fwd",
            "ACME2Fused acme",
            "ampere_s16816gemm_64x64_x3",
            "GPU-1a2b3c4d-1111-2222-3333-123456789abc",
            "gpu 1a2b3c4d 7f7f7f7f7f 10.1.2.3",
            "fused_48213 job_7 0x7fff12345678 0x0",
            "Acmefused fusedacme",
        ];
        assert_eq!(
            filtered(Digits::Short, None, &texts),
            [
                "void at::word1FusedFwd<128, word2>(cuda*)",
                "word1_fused_fwd",
                "WORD3Fused word1",
                "word4_s16816gemm_64x64_x3",
                "GPU-address_1",
                "gpu word5 word6 address_2",
                "fused_number_1 word7_number_2 0x1 0x0",
                "Word8 word9",
            ]
        );
    }

    #[test]
    fn whole_words_go_and_numbers_stay() {
        assert_eq!(
            filtered(
                Digits::Alone,
                Some(Sort::Text),
                &["rank 3 of bob_x (0x7ff8, 3e8, 48213): bob_x é", "a1b2c3d4"]
            ),
            ["rank 3 text_1 text_2 (0x7ff8, 3e8, 48213): text_2 text_3", "text_4"]
        );
        assert_eq!(
            filtered(Digits::Short, Some(Sort::Text), &["rank_of 48213", "slurm 12"]),
            ["rank_of number_1", "text_1 number_2"]
        );
        assert_eq!(filtered(Digits::All, None, &["s15360k15360"]), ["s15360k15360"]);
    }
}
