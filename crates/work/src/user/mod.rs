//! Models that the user writes, in TOML.
//!
//! ```toml
//! [[model]]
//! name = "mylib::fused_gemm"
//! category = "GEMM"
//! flops = "2*M*N*K"
//! bytes = "(M*K + K*N + M*N) * width(0)"
//! with = { M = "dim(0, 0)", K = "dim(0, 1)", N = "dim(1, 0)" }
//!
//! [[model]]
//! pattern = "mylib::linear_v[0-9]+"
//! like = "aten::addmm"
//! arguments = [2, 0, 1]
//! ```

mod expression;

use std::borrow::Cow;
use std::collections::BTreeMap;

use regex_lite::Regex;
use serde::Deserialize;
use toml::Spanned;

use crate::args::Args;
use crate::count::Count;
use crate::dtype::Precision;
use crate::work::{Engine, Params, Work};
use expression::Expression;

/// What is wrong with the user's models, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct UserError {
    pub line: usize,
    pub message: String,
}

/// A model of the user's: which operators it is for, and how to count.
#[derive(Clone, Debug)]
pub(crate) struct UserModel {
    /// Where it starts.
    pub(crate) line: usize,
    pub(crate) names: Names,
    pub(crate) category: Option<String>,
    pub(crate) counting: Counting,
}

#[derive(Clone, Debug)]
pub(crate) enum Names {
    One(String),
    Matching(Regex),
}

#[derive(Clone, Debug)]
pub(crate) enum Counting {
    Formula(Formula),
    /// As another operator, whose arguments are at these places here.
    Like(String, Option<Vec<usize>>),
}

#[derive(Clone, Debug)]
pub(crate) struct Formula {
    flops: Expression,
    bytes: Option<Expression>,
    engine: Engine,
    precision: PrecisionOf,
    /// In an order in which each needs only those before it.
    definitions: Vec<(String, Expression)>,
}

#[derive(Clone, Copy, Debug)]
enum PrecisionOf {
    Named(Precision),
    Argument(usize),
}

impl Formula {
    pub(crate) fn work(&self, args: &Args) -> Option<Work> {
        let mut values = Vec::with_capacity(self.definitions.len());
        for (_, definition) in &self.definitions {
            values.push(definition.value(args, &values));
        }
        let count = |formula: &Expression| {
            formula.value(args, &values).and_then(|value| u128::try_from(value).ok()).map(Count::exactly)
        };
        let work = Work::new(self.engine, count(&self.flops)?)?;
        let bytes = self.bytes.as_ref().and_then(count).unwrap_or(Count::UNKNOWN);
        let precision = match self.precision {
            PrecisionOf::Named(precision) => Some(precision),
            PrecisionOf::Argument(at) => args.tensor(at).and_then(|tensor| tensor.dtype?.precision),
        };
        let known = self.definitions.iter().zip(&values).filter_map(|((name, _), value)| {
            Some((Cow::Owned(name.clone()), i64::try_from((*value)?).ok()?))
        });
        Some(Work { params: Params(known.collect()), ..work.moving(bytes).in_precision(precision) })
    }
}

/// Reads the user's models.
pub(crate) fn read(text: &str) -> Result<Vec<UserModel>, UserError> {
    let line_at = |at: usize| text.as_bytes().iter().take(at).filter(|&&byte| byte == b'\n').count() + 1;
    let file: File = toml::from_str(text).map_err(|error| UserError {
        line: error.span().map_or(1, |span| line_at(span.start)),
        message: error.message().trim().replace('\n', " "),
    })?;
    file.model
        .into_iter()
        .map(|entry| {
            let start = entry.span().start;
            entry.into_inner().model(line_at(start)).map_err(|mistake| UserError {
                line: line_at(mistake.at.unwrap_or(start)),
                message: mistake.message,
            })
        })
        .collect()
}

/// A mistake, at some byte if it is not in the entry as a whole.
struct Mistake {
    at: Option<usize>,
    message: String,
}

impl From<&str> for Mistake {
    fn from(message: &str) -> Mistake {
        Mistake { at: None, message: message.to_owned() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    model: Vec<Spanned<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Option<String>,
    pattern: Option<Spanned<String>>,
    category: Option<String>,
    like: Option<String>,
    arguments: Option<Vec<usize>>,
    flops: Option<Spanned<String>>,
    bytes: Option<Spanned<String>>,
    engine: Option<Spanned<String>>,
    precision: Option<Spanned<String>>,
    #[serde(default)]
    with: BTreeMap<String, Spanned<String>>,
}

impl Entry {
    fn model(self, line: usize) -> Result<UserModel, Mistake> {
        let names = match (&self.name, &self.pattern) {
            (Some(name), None) => Names::One(name.clone()),
            (None, Some(pattern)) => Names::Matching(whole(pattern)?),
            _ => return Err("a model needs either `name` or `pattern`".into()),
        };
        let formula = self.flops.is_some() || self.bytes.is_some() || !self.with.is_empty();
        let counting = match &self.like {
            Some(_) if formula => return Err("a model has either `like` or formulas of its own".into()),
            Some(other) => Counting::Like(other.clone(), self.arguments.clone()),
            None if self.arguments.is_some() => return Err("`arguments` goes with `like`".into()),
            None => Counting::Formula(self.formula()?),
        };
        Ok(UserModel { line, names, category: self.category, counting })
    }

    fn formula(&self) -> Result<Formula, Mistake> {
        let names: Vec<&str> = self.with.keys().map(String::as_str).collect();
        let parsed: Vec<Expression> =
            self.with.iter().map(|(name, text)| parse(name, text, &names)).collect::<Result<_, _>>()?;
        let order = order(&parsed).map_err(|looping| Mistake {
            at: self.with.get(names[looping]).map(|text| text.span().start),
            message: format!("`{}` is defined by itself", names[looping]),
        })?;
        // Parse again with the names in that order, so that each refers to those before it.
        let ordered: Vec<&str> = order.iter().map(|&name| names[name]).collect();
        let mut definitions = Vec::new();
        for &name in &ordered {
            definitions.push((name.to_owned(), parse(name, &self.with[name], &ordered)?));
        }
        let flops = self.flops.as_ref().ok_or("a model needs `flops`, or `like` another operator")?;
        Ok(Formula {
            flops: parse("flops", flops, &ordered)?,
            bytes: self.bytes.as_ref().map(|bytes| parse("bytes", bytes, &ordered)).transpose()?,
            engine: self.engine()?,
            precision: self.precision()?,
            definitions,
        })
    }

    fn engine(&self) -> Result<Engine, Mistake> {
        let Some(engine) = &self.engine else { return Ok(Engine::Matrix) };
        match engine.get_ref().as_str() {
            "matrix" => Ok(Engine::Matrix),
            "vector" => Ok(Engine::Vector),
            other => Err(mistake(engine, format!("`{other}` is no engine; there are matrix and vector"))),
        }
    }

    fn precision(&self) -> Result<PrecisionOf, Mistake> {
        let Some(precision) = &self.precision else { return Ok(PrecisionOf::Argument(0)) };
        let named = Precision::named(precision.get_ref());
        named.map(PrecisionOf::Named).ok_or_else(|| {
            let known = Precision::ALL.map(Precision::name).join(", ");
            mistake(precision, format!("`{}` is no precision; there are {known}", precision.get_ref()))
        })
    }
}

fn parse(key: &str, text: &Spanned<String>, names: &[&str]) -> Result<Expression, Mistake> {
    Expression::parse(text.get_ref(), names)
        .map_err(|reason| mistake(text, format!("in `{key} = \"{}\"`: {reason}", text.get_ref())))
}

fn mistake(text: &Spanned<String>, message: String) -> Mistake {
    Mistake { at: Some(text.span().start), message }
}

/// A pattern that must match a name from its beginning to its end.
fn whole(pattern: &Spanned<String>) -> Result<Regex, Mistake> {
    Regex::new(&format!("^(?:{})$", pattern.get_ref()))
        .map_err(|error| mistake(pattern, format!("`{}` is no pattern: {error}", pattern.get_ref())))
}

/// Definitions in an order in which each uses only those before it, or one that uses itself.
fn order(definitions: &[Expression]) -> Result<Vec<usize>, usize> {
    let mut order: Vec<usize> = Vec::new();
    let uses: Vec<Vec<usize>> = definitions
        .iter()
        .map(|definition| {
            let mut used = Vec::new();
            definition.names(&mut used);
            used
        })
        .collect();
    while order.len() < definitions.len() {
        let ready =
            |&name: &usize| !order.contains(&name) && uses[name].iter().all(|used| order.contains(used));
        match (0..definitions.len()).find(ready) {
            Some(name) => order.push(name),
            None => return Err((0..definitions.len()).find(|name| !order.contains(name)).unwrap_or(0)),
        }
    }
    Ok(order)
}

#[cfg(test)]
mod tests;
