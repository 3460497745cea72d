//! One replacement for each name, numbered as they are met.

use rustc_hash::FxHashMap;

/// What a name is of: the word that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sort {
    Address,
    Annotation,
    Category,
    Class,
    Event,
    File,
    Function,
    Host,
    Id,
    Key,
    Label,
    Metadata,
    Module,
    Number,
    Pointer,
    Text,
    /// Part of a name whose other parts are public.
    Word,
}

impl Sort {
    fn word(self) -> &'static str {
        match self {
            Sort::Address => "address_",
            Sort::Annotation => "annotation_",
            Sort::Category => "category_",
            Sort::Class => "class_",
            Sort::Event => "event_",
            Sort::File => "file_",
            Sort::Function => "function_",
            // Analyses know by its characters that this is a host.
            Sort::Host => "host-",
            Sort::Id => "id_",
            Sort::Key => "key_",
            Sort::Label => "label_",
            Sort::Metadata => "metadata_",
            Sort::Module => "module_",
            Sort::Number => "number_",
            Sort::Pointer => "0x",
            Sort::Text => "text_",
            Sort::Word => "word",
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
        match sort {
            Sort::Pointer => format!("0x{number:x}"),
            _ => format!("{}{number}", sort.word()),
        }
    }

    /// The replacement of a part of a name, in the case that it is written in.
    pub(super) fn part(&mut self, part: &str) -> String {
        let new = self.of(Sort::Word, &part.to_lowercase());
        let mut letters = part.chars().filter(|c| c.is_alphabetic());
        match letters.next() {
            Some(first) if first.is_uppercase() => {
                let all = part.chars().filter(|c| c.is_alphabetic()).count() > 1
                    && !letters.any(char::is_lowercase);
                if all { new.to_uppercase() } else { new.replacen('w', "W", 1) }
            }
            _ => new,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_replacement() {
        let mut names = Names::default();
        assert_eq!(names.of(Sort::File, "a"), "file_1");
        assert_eq!(names.of(Sort::File, "b"), "file_2");
        assert_eq!(names.of(Sort::Host, "a"), "host-1");
        assert_eq!(names.of(Sort::File, "a"), "file_1");
        assert_eq!(
            ["bob", "Bob", "BOB", "b0b"].map(|part| names.part(part)),
            ["word1", "Word1", "WORD1", "word2"]
        );
    }
}
