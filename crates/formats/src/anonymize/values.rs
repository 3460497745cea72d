//! Which rule holds for the value under a key, and how it reaches the strings inside of lists and objects.

use std::borrow::Cow;

use super::Anonymizer;
use super::keys;
use super::names::Sort;
use super::words::SHORT;
use crate::rewrite::{DEEPEST, items, members, quoted, unquoted};

/// What becomes of a string; of an object, what becomes of its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Rule {
    /// The name of a kernel, an operator or a call: what is public of it.
    Public,
    /// The value of a known argument: the same, with all numbers.
    Value,
    /// The same where nothing is an address.
    Version,
    /// A Python frame: `path/file.py(12): function`.
    Frame,
    /// Frames in a row.
    Stack,
    /// Class names of modules.
    Modules,
    Annotation,
    /// The name of an event of somebody's own category.
    Event,
    /// A host event of JAX: `PjitFunction(step)`, `$file.py:12 function`.
    Pjit,
    File,
    /// The name of a trace, which may tell the host.
    TraceName,
    Group,
    Host,
    Id,
    /// Names of processes and threads.
    Label,
    Log,
    /// Every word that is not known to be harmless.
    Words,
    Phase,
    Category,
    /// The name of a metadata event.
    Metadata,

    /// The arguments of an event.
    Args,
    /// The arguments of a metadata event.
    Labels,
    /// The arguments of a counter: each is a series.
    Series,
    Distributed,
    Devices,
}

impl Anonymizer {
    /// Any value: its strings and keys as the rule says, all else as it stands.
    pub(super) fn value(&mut self, rule: Rule, text: &[u8], depth: usize, out: &mut Vec<u8>) {
        match text.first() {
            Some(b'"') => self.string(rule, text, out),
            Some(b'[' | b'{') if depth >= DEEPEST => out.extend_from_slice(b"null"),
            Some(b'[') => self.list(rule, text, depth, out),
            Some(b'{') => self.object(rule, text, depth, out),
            _ if rule == Rule::Words && text.iter().filter(|byte| byte.is_ascii_digit()).count() > SHORT => {
                // A number that nobody knows, and long enough to be somebody's.
                out.push(b'0');
            }
            _ => out.extend_from_slice(text),
        }
    }

    fn list(&mut self, rule: Rule, text: &[u8], depth: usize, out: &mut Vec<u8>) {
        let Some(items) = items(text) else { return out.extend_from_slice(b"null") };
        let mut copied = 0;
        for item in items {
            out.extend_from_slice(&text[copied..item.start]);
            self.value(rule, &text[item.clone()], depth + 1, out);
            copied = item.end;
        }
        out.extend_from_slice(&text[copied..]);
    }

    fn object(&mut self, rule: Rule, text: &[u8], depth: usize, out: &mut Vec<u8>) {
        let Some(object) = members(text) else { return out.extend_from_slice(b"null") };
        let mut copied = 0;
        for member in object {
            out.extend_from_slice(&text[copied..member.key.start]);
            let key = unquoted(&text[member.key.clone()]);
            let (new, rule) = self.member(rule, &key);
            match new {
                None => out.extend_from_slice(&text[member.key.clone()]),
                Some(new) => out.extend_from_slice(quoted(&new).as_bytes()),
            }
            out.extend_from_slice(&text[member.key.end..member.value.start]);
            self.value(rule, &text[member.value.clone()], depth + 1, out);
            copied = member.value.end;
        }
        out.extend_from_slice(&text[copied..]);
    }

    /// The new key of a member, if it does not stay, and the rule for its value.
    fn member(&mut self, rule: Rule, key: &str) -> (Option<String>, Rule) {
        let known = match rule {
            Rule::Args => keys::argument(key),
            Rule::Labels => keys::label(key),
            Rule::Distributed => keys::distributed(key),
            Rule::Devices => keys::device(key),
            Rule::Series => match keys::argument(key) {
                None => {
                    let new = self.replaced(Rule::Public, key);
                    return ((new != key).then_some(new), Rule::Value);
                }
                known => known,
            },
            _ => None,
        };
        match known {
            Some(rule) => (None, rule),
            None => (Some(self.names.of(Sort::Key, key)), Rule::Words),
        }
    }

    pub(super) fn string(&mut self, rule: Rule, raw: &[u8], out: &mut Vec<u8>) {
        let key = (rule, raw.to_vec());
        if let Some(done) = self.done.get(&key) {
            return out.extend_from_slice(done);
        }
        let text: Cow<'_, str> = unquoted(raw);
        let new = quoted(&self.replaced(rule, &text)).into_bytes();
        out.extend_from_slice(&new);
        if self.done.len() >= super::MOST_REMEMBERED {
            self.done.clear();
        }
        self.done.insert(key, new);
    }
}
