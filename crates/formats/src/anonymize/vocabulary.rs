//! Words that are public: what may stay of names.

use rustc_hash::FxHashSet;

/// Of kernels, operators and calls of CUDA, HIP, torch, JAX and the libraries around them, one per line.
const PUBLIC: &str = include_str!("public_words.txt");
/// Further ones, of files, classes and functions of torch and of Python's own library.
const CODE: &str = include_str!("code_words.txt");

#[derive(Debug)]
pub(super) struct Vocabulary {
    public: FxHashSet<&'static str>,
    code: FxHashSet<&'static str>,
}

impl Default for Vocabulary {
    fn default() -> Self {
        let words = |text: &'static str| text.lines().filter(|line| !line.starts_with('#')).collect();
        Vocabulary { public: words(PUBLIC), code: words(CODE) }
    }
}

impl Vocabulary {
    /// Whether a word, in lower case, may stay anywhere.
    pub(super) fn is_public(&self, word: &str) -> bool {
        self.public.contains(word)
    }

    /// Whether it may stay in a path or a function that is of a public package.
    pub(super) fn is_of_public_code(&self, word: &str) -> bool {
        self.public.contains(word) || self.code.contains(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_in_lower_case_and_in_order() {
        for text in [PUBLIC, CODE] {
            let words: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
            assert!(words.is_sorted() && words.len() > 1000);
            assert!(
                words.iter().all(|word| word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()))
            );
        }
        // The replacements of parts of names must not be taken for public.
        assert!(!Vocabulary::default().is_of_public_code("word"));
    }
}
