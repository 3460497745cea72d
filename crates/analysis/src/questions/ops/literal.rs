//! A value that a trace wrote as text, such as `[[888, 2880], []]` or `["c10::BFloat16", "Scalar"]`.

use std::fmt;

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Literal>),
}

/// Lists of lists of lists occur; nothing real is deeper than this.
const DEEPEST: usize = 32;

impl Literal {
    /// What the text means; text that is no value of this sort is itself.
    pub fn parse(text: &str) -> Literal {
        let mut rest = Rest(text);
        match rest.value(0) {
            Some(value) if rest.0.trim_start().is_empty() => value,
            _ => Literal::Text(text.to_owned()),
        }
    }

    pub fn items(&self) -> &[Literal] {
        match self {
            Literal::List(items) => items,
            _ => &[],
        }
    }
}

/// As JSON.
impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Null => f.write_str("null"),
            Literal::Bool(value) => write!(f, "{value}"),
            Literal::Int(value) => write!(f, "{value}"),
            Literal::Float(value) => write!(f, "{value:?}"),
            Literal::Text(text) => write!(f, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
            Literal::List(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
        }
    }
}

/// What is still to be read.
struct Rest<'t>(&'t str);

impl Rest<'_> {
    fn takes(&mut self, text: &str) -> bool {
        let rest = self.0.trim_start().strip_prefix(text);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn value(&mut self, depth: usize) -> Option<Literal> {
        if self.takes("[") {
            return self.list(depth);
        }
        if self.takes("\"") {
            return self.text().map(Literal::Text);
        }
        let rest = self.0.trim_start();
        let (word, after) = rest.split_at(rest.find([',', ']', ' ', '\n', '\t', '\r']).unwrap_or(rest.len()));
        self.0 = after;
        match word {
            "null" => Some(Literal::Null),
            "true" => Some(Literal::Bool(true)),
            "false" => Some(Literal::Bool(false)),
            number => number.parse().map(Literal::Int).ok().or_else(|| {
                let float = number.parse::<f64>().ok().filter(|float| float.is_finite());
                float.map(Literal::Float)
            }),
        }
    }

    fn list(&mut self, depth: usize) -> Option<Literal> {
        let mut items = Vec::new();
        if depth == DEEPEST {
            return None;
        }
        if self.takes("]") {
            return Some(Literal::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.takes("]") {
                return Some(Literal::List(items));
            }
            if !self.takes(",") {
                return None;
            }
        }
    }

    /// The rest of a string, its first quote taken.
    fn text(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut chars = self.0.char_indices();
        while let Some((place, c)) = chars.next() {
            match c {
                '"' => {
                    self.0 = &self.0[place + 1..];
                    return Some(text);
                }
                '\\' => match chars.next()?.1 {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    'b' => text.push('\u{8}'),
                    'f' => text.push('\u{c}'),
                    'u' => text.push(char::from_u32(unit(&mut chars)?)?),
                    other => text.push(other),
                },
                other => text.push(other),
            }
        }
        None
    }
}

/// The four digits of `\u00e9`.
fn unit(chars: &mut std::str::CharIndices<'_>) -> Option<u32> {
    (0..4).try_fold(0, |value, _| Some(value * 16 + chars.next()?.1.to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::json;

    #[test]
    fn values_are_what_a_json_reader_sees() {
        let texts = [
            "[[888, 2880], [], [[2, 3], [4]]]",
            r#"["c10::BFloat16", "Scalar", "", "a \"quoted\" \u00e9\n"]"#,
            "[ ]",
            "[0.5, -3, 1e3, null, true,false ]",
            "\"\"",
        ];
        for text in texts {
            let expected: serde_json::Value = serde_json::from_str(text).unwrap();
            assert_eq!(json(&Literal::parse(text)), expected, "{text}");
            let shown = Literal::parse(text).to_string().replace('\n', "\\n");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_value_stays_text() {
        let deep = "[".repeat(100_000);
        for text in ["[1, 2", "[1 2]", "[,]", "\"open", "nan", "[0, ...]", "", "{}", "[1]]", &deep] {
            assert_eq!(Literal::parse(text), Literal::Text(text.to_owned()));
        }
    }
}
