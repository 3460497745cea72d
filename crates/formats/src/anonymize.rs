//! Takes out of a trace what tells who recorded it, where, and in what code: names of files, functions, modules,
//! hosts, users, annotations and paths.
//!
//! Each name gets one replacement (`file_3.py`, `annotation_7`), the same wherever it occurs and in every file that
//! one [`Anonymizer`] sees, so that every analysis gives the same numbers. Kept is what is public or what analyses go
//! by: names of kernels, operators and runtime calls, frames and modules of well-known packages, the annotations of
//! torch itself, shapes, types and ids. Strings under keys that nobody told us about are replaced word by word.

mod known;
mod names;
mod python;
mod values;

use gpuscope_trace::Class;
use rustc_hash::FxHashMap;

use crate::rewrite::{Editor, Element, Member, members, string_of, unquoted};
use known::{MARKS, WORDS_OF_LABELS, WORDS_OF_LOGS};
use names::{Names, Sort};
use values::Rule;

/// Texts that were rewritten already; beyond this many they are worked out again.
const MOST_REMEMBERED: usize = 1 << 18;

#[derive(Debug, Default)]
pub struct Anonymizer {
    names: Names,
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
        let rule = match key {
            "schemaVersion" | "deviceProperties" | "displayTimeUnit" | "baseTimeNanoseconds" => return None,
            "INFO" | "WARNING" | "ERROR" => Rule::Log,
            "distributedInfo" => Rule::Distributed,
            "host_name" => Rule::Host,
            "traceName" | "trace_name" => Rule::File,
            _ => Rule::Words,
        };
        let mut out = Vec::new();
        self.value(rule, value, &mut out);
        Some(String::from_utf8_lossy(&out).into_owned())
    }
}

impl Anonymizer {
    /// An event's text with its names replaced, and all else as it stands.
    fn event(&mut self, text: &[u8], object: &[Member]) -> Vec<u8> {
        let last = |wanted: &str| {
            let member = object.iter().rev().find(|member| unquoted(&text[member.key.clone()]) == wanted);
            member.map_or_else(Default::default, |member| unquoted(&text[member.value.clone()]))
        };
        let is_metadata = last("ph") == "M";
        let class = Class::of(&last("cat"));
        let mut out = Vec::with_capacity(text.len());
        let mut copied = 0;
        for member in object {
            out.extend_from_slice(&text[copied..member.value.start]);
            let value = &text[member.value.clone()];
            match &*unquoted(&text[member.key.clone()]) {
                "ph" | "cat" | "s" | "bp" | "cname" => out.extend_from_slice(value),
                "name" if is_metadata => out.extend_from_slice(value),
                "name" => self.value(name_rule(class), value, &mut out),
                "args" => self.args(value, is_metadata, &mut out),
                _ => self.value(Rule::Label, value, &mut out),
            }
            copied = member.value.end;
        }
        out.extend_from_slice(&text[copied..]);
        out
    }

    fn args(&mut self, text: &[u8], is_metadata: bool, out: &mut Vec<u8>) {
        let Some(object) = members(text) else { return self.value(Rule::Words, text, out) };
        let mut copied = 0;
        for member in object {
            out.extend_from_slice(&text[copied..member.value.start]);
            let key = unquoted(&text[member.key.clone()]);
            let rule = if is_metadata { Rule::Label } else { values::rule_of(&key) };
            self.value(rule, &text[member.value.clone()], out);
            copied = member.value.end;
        }
        out.extend_from_slice(&text[copied..]);
    }

    /// One string as its rule says.
    fn replaced(&mut self, rule: Rule, text: &str) -> String {
        let names = &mut self.names;
        let new = match rule {
            Rule::Keep | Rule::Distributed => text.to_owned(),
            Rule::Paths => names.paths(text),
            Rule::Frame => python::frame(names, text),
            Rule::Stack => python::stack(names, text),
            Rule::Modules => names.words(Sort::Module, text, &python::is_public_class),
            Rule::Annotation => python::annotation(names, text),
            Rule::Pjit => python::jitted(names, text),
            Rule::File => python::file(names, text).0,
            Rule::Group => names.words(Sort::Group, text, &known::is_group_word),
            Rule::Host => names.of(Sort::Host, text),
            Rule::Label => names.words(Sort::Label, text, &|word| known::has_lower(&WORDS_OF_LABELS, word)),
            Rule::Log => names.words(Sort::Text, text, &|word| known::has_lower(&WORDS_OF_LOGS, word)),
            Rule::Words => names.words(Sort::Text, text, &known::is_plain_word),
        };
        // Words by which analyses know what a host was doing.
        match MARKS.iter().find(|mark| text.contains(**mark) && !new.contains(**mark)) {
            Some(mark) => format!("{new} {mark}"),
            None => new,
        }
    }

    fn string(&mut self, rule: Rule, raw: &[u8], out: &mut Vec<u8>) {
        let key = (rule, raw.to_vec());
        if let Some(done) = self.done.get(&key) {
            return out.extend_from_slice(done);
        }
        let text = string_of(raw).unwrap_or_default();
        let new = serde_json::Value::from(self.replaced(rule, &text)).to_string().into_bytes();
        out.extend_from_slice(&new);
        if self.done.len() >= MOST_REMEMBERED {
            self.done.clear();
        }
        self.done.insert(key, new);
    }
}

fn name_rule(class: Class) -> Rule {
    match class {
        Class::PythonFrame => Rule::Frame,
        Class::Annotation | Class::GpuAnnotation => Rule::Annotation,
        Class::Kernel
        | Class::GpuMemcpy
        | Class::GpuMemset
        | Class::MtiaDevice
        | Class::XlaDevice
        | Class::Runtime
        | Class::Driver
        | Class::Sync => Rule::Keep,
        Class::Uncategorised => Rule::Pjit,
        _ => Rule::Paths,
    }
}

#[cfg(test)]
mod tests;
