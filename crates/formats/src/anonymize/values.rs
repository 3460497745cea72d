//! Which rule holds for the value under a key, and how it reaches the strings inside of lists and objects.

use super::Anonymizer;
use crate::rewrite::{members, unquoted};

/// What becomes of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Rule {
    Keep,
    /// Only paths are replaced.
    Paths,
    /// A Python frame: `path/file.py(12): function`.
    Frame,
    /// Frames in a row.
    Stack,
    /// Class names of modules.
    Modules,
    Annotation,
    /// A host event of JAX: `PjitFunction(step)`, `$file.py:12 function`.
    Pjit,
    File,
    Group,
    Distributed,
    Host,
    /// Names of processes and threads.
    Label,
    Log,
    /// Every word that is not known to be harmless.
    Words,
}

/// The rule for an argument of an event.
pub(super) fn rule_of(key: &str) -> Rule {
    match key {
        "Input Dims"
        | "Input dims"
        | "Input type"
        | "Input Strides"
        | "grid"
        | "block"
        | "dtype"
        | "Collective name"
        | "In split size"
        | "Out split size"
        | "Process Group Ranks"
        | "kernel_backend"
        | "kernel_hash"
        | "kernel_name"
        | "cuda_sync_kind"
        | "kind"
        | "fromDevice"
        | "toDevice"
        | "src"
        | "dst"
        | "Is asynchronized op"
        | "Comms Id"
        | "stream"
        | "device"
        | "hlo_op"
        | "Backend" => Rule::Keep,
        "Call stack" => Rule::Stack,
        "Module Hierarchy" | "hlo_module" | "tf_op" => Rule::Modules,
        "kernel_file" | "source_file" => Rule::File,
        "Process Group Name" | "Process Group Description" => Rule::Group,
        _ => Rule::Words,
    }
}

/// The rule for an entry of `distributedInfo`.
fn rule_of_distributed(key: &str) -> Rule {
    match key {
        "backend" | "backend_config" | "nccl_version" | "ranks" => Rule::Keep,
        "pg_name" | "pg_desc" => Rule::Group,
        "pg_config" => Rule::Distributed,
        _ => Rule::Words,
    }
}

impl Anonymizer {
    /// Any value: its strings as the rule says, all else as it stands.
    pub(super) fn value(&mut self, rule: Rule, text: &[u8], out: &mut Vec<u8>) {
        match text.first() {
            _ if rule == Rule::Keep => out.extend_from_slice(text),
            Some(b'"') => self.string(rule, text, out),
            Some(b'[' | b'{') => self.container(rule, text, out),
            _ => out.extend_from_slice(text),
        }
    }

    fn container(&mut self, rule: Rule, text: &[u8], out: &mut Vec<u8>) {
        if rule == Rule::Distributed
            && let Some(object) = members(text)
        {
            let mut copied = 0;
            for member in object {
                out.extend_from_slice(&text[copied..member.value.start]);
                let rule = rule_of_distributed(&unquoted(&text[member.key.clone()]));
                self.value(rule, &text[member.value.clone()], out);
                copied = member.value.end;
            }
            return out.extend_from_slice(&text[copied..]);
        }
        if rule == Rule::Distributed {
            // A list of groups.
            let mut rest = text;
            while let Some(start) = rest.iter().position(|byte| *byte == b'{') {
                let Some(length) = object_length(&rest[start..]) else { break };
                out.extend_from_slice(&rest[..start]);
                self.container(rule, &rest[start..start + length], out);
                rest = &rest[start + length..];
            }
            return out.extend_from_slice(rest);
        }
        self.strings(rule, text, out);
    }

    /// Every string in a text that is not a key of an object.
    fn strings(&mut self, rule: Rule, text: &[u8], out: &mut Vec<u8>) {
        let mut at = 0;
        while at < text.len() {
            if text[at] != b'"' {
                out.push(text[at]);
                at += 1;
                continue;
            }
            let end = string_end(text, at);
            let is_key = text[end..].trim_ascii_start().first() == Some(&b':');
            if is_key {
                out.extend_from_slice(&text[at..end]);
            } else {
                self.string(rule, &text[at..end], out);
            }
            at = end;
        }
    }
}

/// The place behind the string that begins at `from`.
fn string_end(text: &[u8], from: usize) -> usize {
    let mut at = from + 1;
    while at < text.len() {
        match text[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

fn object_length(text: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        match text[at] {
            b'"' => {
                at = string_end(text, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
    None
}
