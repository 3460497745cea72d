//! The envelope every script reads: what was asked, of what, how far it can be trusted, and the answer.
//! Integers stay integers; nothing is scaled.

use std::io::{self, Write};

use serde::Serialize;

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

    /// One line of JSON.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut out, self)?;
        out.write_all(b"\n")
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
}
