//! What can be asked: questions with their options, as the definition of the command line has them.

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Question {
    /// The command's name, `critical-path`.
    pub name: String,
    /// What it answers, in a sentence.
    pub about: String,
    /// How many runs it is about: two where runs are compared.
    pub runs: usize,
    pub options: Vec<Opt>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Opt {
    /// As JSON and Python have it, `num_kernels`.
    pub name: String,
    /// As the command line has it, `--num-kernels`; none if its place tells what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<String>,
    pub help: String,
    pub kind: Kind,
    /// Nothing else is taken, if there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// May be given several times.
    pub many: bool,
    pub required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Of a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<&'static str>,
    /// It is about how to read or what to write: not for strangers.
    pub for_files: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Flag,
    Integer,
    Float,
    Text,
}

impl Question {
    pub fn option(&self, name: &str) -> Option<&Opt> {
        self.options.iter().find(|option| option.name == name)
    }
}

/// The known word that is written most alike, if any is.
pub fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let score = |known: &&str| strsim::jaro_winkler(word, known);
    let best = known.iter().copied().max_by(|a, b| score(a).total_cmp(&score(b)))?;
    (score(&best) > 0.8).then_some(best)
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-=+:,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
