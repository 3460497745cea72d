//! One replacement for each name, numbered as they are met.

use rustc_hash::FxHashMap;

/// What a name is of: the word that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sort {
    Annotation,
    Class,
    File,
    Function,
    Group,
    Host,
    Label,
    Module,
    Text,
}

impl Sort {
    fn word(self) -> &'static str {
        match self {
            Sort::Annotation => "annotation",
            Sort::Class => "class",
            Sort::File => "file",
            Sort::Function => "function",
            Sort::Group => "group",
            Sort::Host => "host",
            Sort::Label => "label",
            Sort::Module => "module",
            Sort::Text => "text",
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Names {
    known: FxHashMap<(Sort, String), u32>,
    counts: FxHashMap<Sort, u32>,
}

impl Names {
    /// The replacement of a name.
    pub(super) fn of(&mut self, sort: Sort, name: &str) -> String {
        let number = *self.known.entry((sort, name.to_owned())).or_insert_with(|| {
            let count = self.counts.entry(sort).or_default();
            *count += 1;
            *count
        });
        format!("{}_{number}", sort.word())
    }

    /// Replaces every word but those that may stay; numbers and punctuation are no words.
    pub(super) fn words(&mut self, sort: Sort, text: &str, stays: &dyn Fn(&str) -> bool) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(|c: char| c.is_alphabetic() || c == '_') {
            // A letter behind a digit belongs to a number: 0x7f, 3e8.
            let number = rest[..start].ends_with(|c: char| c.is_ascii_digit());
            let length = rest[start..].find(|c: char| !(c.is_alphanumeric() || c == '_'));
            let end = length.map_or(rest.len(), |length| start + length);
            let word = &rest[start..end];
            out.push_str(&rest[..start]);
            if stays(word) || number && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'x') {
                out.push_str(word);
            } else {
                out.push_str(&self.of(sort, word));
            }
            rest = &rest[end..];
        }
        out + rest
    }

    /// Replaces what looks like a path or an address of somebody, and nothing else.
    pub(super) fn paths(&mut self, text: &str) -> String {
        let is_end = |c: char| c.is_whitespace() || "\"'`,;()[]{}<>=|".contains(c);
        let mut out = String::with_capacity(text.len());
        for piece in text.split_inclusive(is_end) {
            let word = piece.trim_end_matches(is_end);
            if is_path(word) {
                out.push_str(&self.of(Sort::File, word));
            } else {
                out.push_str(word);
            }
            out.push_str(&piece[word.len()..]);
        }
        out
    }
}

fn is_path(word: &str) -> bool {
    let has_letters = word.chars().any(char::is_alphabetic);
    let is_file = [".py", ".so", ".cpp", ".cu", ".json", ".yaml", ".yml", ".toml", ".sh", ".pt", ".bin"]
        .iter()
        .any(|end| word.ends_with(end));
    let is_windows = word.get(1..3) == Some(":\\");
    let is_absolute = word.starts_with('/') || word.starts_with("~/") || word.starts_with("./");
    let is_address = word.contains('@') && word.contains('.') || word.contains("://");
    has_letters && (is_file || is_windows || is_absolute || is_address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_replacement() {
        let mut names = Names::default();
        assert_eq!(names.of(Sort::File, "a"), "file_1");
        assert_eq!(names.of(Sort::File, "b"), "file_2");
        assert_eq!(names.of(Sort::Host, "a"), "host_1");
        assert_eq!(names.of(Sort::File, "a"), "file_1");
    }

    #[test]
    fn words_go_and_numbers_stay() {
        let mut names = Names::default();
        let stays = |word: &str| word == "rank";
        assert_eq!(
            names.words(Sort::Text, "rank 3 of bob_x (0x7ff8, 3e8): bob_x é", &stays),
            "rank 3 text_1 text_2 (0x7ff8, 3e8): text_2 text_3"
        );
    }

    #[test]
    fn only_paths_go() {
        let mut names = Names::default();
        assert_eq!(
            names.paths("load /data/bob/x.bin, then aten::div 3/4 (train.py)"),
            "load file_1, then aten::div 3/4 (file_2)"
        );
        assert_eq!(names.paths("C:\\bob\\x bob@lab.org s3://bucket/x a/b"), "file_3 file_4 file_5 a/b");
    }
}
