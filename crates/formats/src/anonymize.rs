//! Takes out of a trace what tells who recorded it, where, and in what code.
//!
//! What stays is listed: keys that are known ([`keys`]), words that are public ([`vocabulary`]), numbers too short to
//! be anybody's or under known keys. Everything else is replaced, names by the same replacement wherever they occur
//! and in every file that one [`Anonymizer`] sees, and so that analyses take the replacement for the same sort of
//! thing ([`roles`]): every answer has the same numbers.

mod addresses;
mod keys;
mod known;
mod names;
mod python;
mod roles;
mod values;
mod vocabulary;
mod words;

use gpuscope_trace::Class;
use rustc_hash::FxHashMap;

use crate::rewrite::{Editor, Element, Member, members, quoted, unquoted};
use known::{CATEGORIES, METADATA, WORDS_OF_LABELS, WORDS_OF_LOGS, has, has_lower};
use names::{Names, Sort};
use python::Python;
use values::Rule;
use vocabulary::Vocabulary;
use words::{Digits, Filter, SHORT};

/// Texts that were rewritten already; beyond this many they are worked out again.
const MOST_REMEMBERED: usize = 1 << 18;

#[derive(Debug, Default)]
pub struct Anonymizer {
    names: Names,
    vocabulary: Vocabulary,
    done: FxHashMap<(Rule, Vec<u8>), Vec<u8>>,
}

impl Editor for Anonymizer {
    fn element(&mut self, element: &mut Element<'_>) {
        match members(element.text()) {
            Some(object) => {
                let text = self.event(element.text(), &object);
                element.replace(text);
            }
            // Nothing that an analysis looks at.
            None => element.replace(b"null".to_vec()),
        }
    }

    fn entry(&mut self, key: &str, value: &[u8]) -> Option<String> {
        let mut out = Vec::new();
        self.value(keys::entry(key).unwrap_or(Rule::Words), value, 0, &mut out);
        Some(String::from_utf8_lossy(&out).into_owned())
    }

    fn key(&mut self, key: &str) -> Option<String> {
        // Versions are listed as such.
        let end = if key.ends_with("_version") { "_version" } else { "" };
        keys::entry(key).is_none().then(|| self.names.of(Sort::Key, key) + end)
    }
}

impl Anonymizer {
    /// An event's text with its names replaced, and all else as it stands.
    fn event(&mut self, text: &[u8], object: &[Member]) -> Vec<u8> {
        let last = |wanted: &str| {
            let member = object.iter().rev().find(|member| unquoted(&text[member.key.clone()]) == wanted);
            member.map_or_else(Default::default, |member| unquoted(&text[member.value.clone()]))
        };
        let (phase, class) = (last("ph"), Class::of(&last("cat")));
        let mut out = Vec::with_capacity(text.len());
        let mut copied = 0;
        for member in object {
            out.extend_from_slice(&text[copied..member.key.start]);
            let key = unquoted(&text[member.key.clone()]);
            let rule = match (keys::event(&key), &*phase) {
                (Some(Rule::Event), "M") => Rule::Metadata,
                (Some(Rule::Event), "C") => Rule::Public,
                (Some(Rule::Event), _) => name_rule(class),
                (Some(Rule::Args), "M") => Rule::Labels,
                (Some(Rule::Args), "C") => Rule::Series,
                (Some(Rule::Args), _) if matches!(class, Class::ProfilerRange | Class::Counter) => {
                    Rule::Series
                }
                (rule, _) => rule.unwrap_or(Rule::Words),
            };
            match keys::event(&key) {
                Some(_) => out.extend_from_slice(&text[member.key.clone()]),
                None => out.extend_from_slice(quoted(&self.names.of(Sort::Key, &key)).as_bytes()),
            }
            out.extend_from_slice(&text[member.key.end..member.value.start]);
            self.value(rule, &text[member.value.clone()], 1, &mut out);
            copied = member.value.end;
        }
        out.extend_from_slice(&text[copied..]);
        out
    }

    /// One string as its rule says.
    fn replaced(&mut self, rule: Rule, text: &str) -> String {
        let Anonymizer { names, vocabulary, .. } = self;
        let mut python = Python { names, vocabulary };
        match rule {
            Rule::Public => self.public(text, Digits::Short, true),
            Rule::Value => self.public(text, Digits::Alone, true),
            Rule::Version => self.public(text, Digits::Alone, !is_version(text)),
            Rule::Frame => python.frame(text),
            Rule::Stack => python.stack(text),
            Rule::Annotation => python.annotation(text),
            Rule::Pjit => python.jitted(text),
            Rule::File => python.file(text).0,
            Rule::TraceName => python.trace_name(text),
            Rule::Modules => self.words(Sort::Module, text, Digits::Short, &python::is_public_class),
            Rule::Event => roles::marked(names.of(Sort::Event, text), text),
            Rule::Group => group(names, text),
            Rule::Host if text.trim().is_empty() => String::new(),
            Rule::Host => names.of(Sort::Host, text.trim()),
            Rule::Id => names.of(Sort::Id, text),
            Rule::Label => {
                self.words(Sort::Label, text, Digits::Alone, &|word| has_lower(&WORDS_OF_LABELS, word))
            }
            Rule::Log => self.words(Sort::Text, text, Digits::Alone, &|word| has_lower(&WORDS_OF_LOGS, word)),
            Rule::Words | Rule::Args | Rule::Labels | Rule::Series | Rule::Distributed | Rule::Devices => {
                self.words(Sort::Text, text, Digits::Short, &known::is_plain_word)
            }
            Rule::Phase if text.len() <= 1 && text.is_ascii() => text.to_owned(),
            Rule::Phase => "?".to_owned(),
            Rule::Category => category(names, text),
            Rule::Metadata => metadata(names, text),
        }
    }

    fn public(&mut self, text: &str, digits: Digits, addresses: bool) -> String {
        let public = |word: &str| self.vocabulary.is_public(word);
        let filter = Filter { public: &public, digits, whole: None, addresses };
        // Words of a path are public one by one, but not where they lie.
        let is_end = |c: char| c.is_whitespace() || "\"'`,;()[]{}<>=|".contains(c);
        let mut out = String::with_capacity(text.len());
        let mut plain = 0;
        let mut at = 0;
        for piece in text.split_inclusive(is_end) {
            let word = piece.trim_end_matches(is_end);
            if is_path(word) {
                out.push_str(&filter.apply(&mut self.names, &text[plain..at]));
                out.push_str(&self.names.of(Sort::File, word));
                plain = at + word.len();
            }
            at += piece.len();
        }
        out + &filter.apply(&mut self.names, &text[plain..])
    }

    fn words(&mut self, sort: Sort, text: &str, digits: Digits, public: &dyn Fn(&str) -> bool) -> String {
        Filter { public, digits, whole: Some(sort), addresses: true }.apply(&mut self.names, text)
    }
}

/// Whether four numbers with dots between them are a version: there is nothing else in the text.
fn is_version(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-'))
}

/// A path from the root of a disk or from somebody's home, or a place on the network.
fn is_path(word: &str) -> bool {
    let is_windows = word.get(1..3) == Some(":\\");
    let is_absolute = word.starts_with('/') || word.starts_with("~/") || word.starts_with("./");
    let has_letters = word.chars().any(char::is_alphabetic);
    has_letters && (is_windows || is_absolute || word.contains("://") || word.contains('@'))
}

fn name_rule(class: Class) -> Rule {
    match class {
        Class::PythonFrame => Rule::Frame,
        Class::Annotation | Class::GpuAnnotation => Rule::Annotation,
        Class::Uncategorised => Rule::Pjit,
        Class::Unknown => Rule::Event,
        _ => Rule::Public,
    }
}

/// A category with the ending or beginning by which its sort is known.
fn category(names: &mut Names, text: &str) -> String {
    if text.is_empty() || has(&CATEGORIES, text) {
        return text.to_owned();
    }
    let new = names.of(Sort::Category, text);
    if let Some(end) = ["_runtime", "_driver"].iter().find(|end| text.ends_with(**end)) {
        return format!("{new}{end}");
    }
    match ["xpu_", "privateuse1_"].iter().find(|start| text.starts_with(**start)) {
        Some(start) => format!("{start}{new}"),
        None => new,
    }
}

fn metadata(names: &mut Names, text: &str) -> String {
    if has(&METADATA, text) {
        return text.to_owned();
    }
    let start = ["process_", "thread_"].iter().find(|start| text.starts_with(**start));
    format!("{}{}", start.unwrap_or(&""), names.of(Sort::Metadata, text))
}

/// The name of a process group: words that tell what it is for stay where they stand.
fn group(names: &mut Names, text: &str) -> String {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if !out.ends_with(char::is_alphanumeric)
            && let Some(length) = addresses::at(rest)
        {
            out.push_str(&names.of(Sort::Address, &rest[..length].to_ascii_lowercase()));
            rest = &rest[length..];
            continue;
        }
        let is_same =
            |c: char| c.is_alphabetic() == first.is_alphabetic() && c.is_numeric() == first.is_numeric();
        let (run, after) = rest.split_at(rest.find(|c| !is_same(c)).unwrap_or(rest.len()));
        match () {
            () if first.is_alphabetic() && !known::is_group_word(run) => {
                out.push_str(&names.part(run));
                // The number of the replacement is not that of the group.
                out.push_str(if after.starts_with(char::is_numeric) { "_" } else { "" });
            }
            () if first.is_numeric() && run.len() > SHORT => out.push_str(&names.of(Sort::Number, run)),
            () => out.push_str(run),
        }
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests;
