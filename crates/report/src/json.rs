//! The envelope every script reads: what was asked, of what, how far it can be trusted, and the answer.
//! Integers stay integers; nothing is scaled.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value};

/// Raised only if a field changes its meaning.
const SCHEMA: &str = "gpuscope/1";

#[derive(Debug, Serialize)]
pub struct Envelope<'a, I, Q, D> {
    schema: &'static str,
    command: &'a str,
    inputs: &'a [I],
    quality: &'a [Q],
    data: &'a D,
}

impl<'a, I: Serialize, Q: Serialize, D: Serialize> Envelope<'a, I, Q, D> {
    pub fn new(command: &'a str, inputs: &'a [I], quality: &'a [Q], data: &'a D) -> Self {
        Envelope { schema: SCHEMA, command, inputs, quality, data }
    }

    /// One line of JSON of at most so many bytes: of lists that are too long the first entries are kept, and
    /// `data.left_out` says how many there were by the place of each list.
    pub fn write_within(&self, most: usize, mut out: impl Write) -> io::Result<()> {
        let whole = serde_json::to_vec(self)?;
        if whole.len() < most {
            out.write_all(&whole)?;
            return out.write_all(b"\n");
        }
        let mut value: Value = serde_json::from_slice(&whole)?;
        let mut longest = 1 << 16;
        let text = loop {
            let mut left_out = Map::new();
            cut(&mut value["data"], longest, "", &mut left_out);
            let mut cut = value.clone();
            cut["data"]["left_out"] = Value::Object(left_out);
            let text = cut.to_string();
            if text.len() < most || longest == 1 {
                break text;
            }
            value = serde_json::from_slice(&whole)?;
            longest /= 2;
        };
        writeln!(out, "{text}")
    }

    /// One line of JSON.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut out, self)?;
        out.write_all(b"\n")
    }
}

/// Cuts lists that are longer. Findings are why one asks: they stay.
fn cut(value: &mut Value, longest: usize, place: &str, left_out: &mut Map<String, Value>) {
    match value {
        Value::Array(entries) => {
            if entries.len() > longest {
                let before = left_out.get(place).and_then(Value::as_u64).unwrap_or(0);
                left_out.insert(place.to_owned(), (before + (entries.len() - longest) as u64).into());
                entries.truncate(longest);
            }
            for entry in entries {
                cut(entry, longest, place, left_out);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut().filter(|(name, _)| *name != "findings") {
                let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
                cut(field, longest, &place, left_out);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_envelope_has_five_keys_in_this_order() {
        let mut out = Vec::new();
        Envelope::new("info", &[1_u8], &["x"], &()).write(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "{\"schema\":\"gpuscope/1\",\"command\":\"info\",\"inputs\":[1],\"quality\":[\"x\"],\"data\":null}\n"
        );
    }

    #[test]
    fn long_lists_are_cut_and_said_to_be() {
        let rows: Vec<usize> = (0..10_000).collect();
        let data =
            serde_json::json!({"ranks": [{"rows": rows}, {"rows": [1]}], "findings": rows, "few": [1, 2]});
        let mut out = Vec::new();
        Envelope::new("analyze", &[1_u8], &["x"], &data).write_within(60_000, &mut out).unwrap();
        assert!(out.len() < 60_000);
        let cut: Value = serde_json::from_slice(&out).unwrap();
        let kept = cut["data"]["ranks"][0]["rows"].as_array().unwrap().len();
        assert_eq!(cut["data"]["left_out"]["ranks.rows"], 10_000 - kept);
        assert_eq!(cut["data"]["findings"].as_array().unwrap().len(), 10_000);
        assert_eq!(cut["data"]["few"], serde_json::json!([1, 2]));
        let mut whole = Vec::new();
        Envelope::new("analyze", &[1_u8], &["x"], &data).write_within(1 << 20, &mut whole).unwrap();
        let whole: Value = serde_json::from_slice(&whole).unwrap();
        assert_eq!(whole["data"], data);
    }
}
