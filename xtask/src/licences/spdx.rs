//! SPDX licence expressions, as far as crates write them: `A`, `A+`, `A WITH E`, `A AND B`, `A OR B`, parentheses,
//! and the old `A/B` for `OR`. `WITH` binds tightest, then `AND`, then `OR`.

use anyhow::{Result, bail, ensure};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Expression {
    Licence { id: String, exception: Option<String> },
    And(Vec<Expression>),
    Or(Vec<Expression>),
}

impl Expression {
    /// Whether there is a choice under which only the given licences apply.
    pub(super) fn allows(&self, licences: &[&str], exceptions: &[&str]) -> bool {
        match self {
            Self::Licence { id, exception } => {
                licences.contains(&id.trim_end_matches('+'))
                    && exception.as_deref().is_none_or(|e| exceptions.contains(&e))
            }
            Self::And(parts) => parts.iter().all(|p| p.allows(licences, exceptions)),
            Self::Or(parts) => parts.iter().any(|p| p.allows(licences, exceptions)),
        }
    }
}

pub(super) fn parse(text: &str) -> Result<Expression> {
    let spaced = text.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = Words(spaced.split_whitespace().collect(), 0);
    let expression = words.or()?;
    match words.peek() {
        None => Ok(expression),
        Some(word) => bail!("unexpected `{word}`"),
    }
}

struct Words<'a>(Vec<&'a str>, usize);

impl<'a> Words<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.0.get(self.1).copied()
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|w| w.eq_ignore_ascii_case(word));
        self.1 += usize::from(found);
        found
    }

    fn name(&mut self) -> Result<String> {
        let Some(word) = self.peek() else { bail!("ends where a name is expected") };
        let operator = ["AND", "OR", "WITH", "(", ")"].iter().any(|o| word.eq_ignore_ascii_case(o));
        ensure!(!operator, "`{word}` stands where a name is expected");
        self.1 += 1;
        Ok(word.to_owned())
    }

    fn or(&mut self) -> Result<Expression> {
        let mut parts = vec![self.and()?];
        while self.take("OR") {
            parts.push(self.and()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expression::Or(parts) })
    }

    fn and(&mut self) -> Result<Expression> {
        let mut parts = vec![self.one()?];
        while self.take("AND") {
            parts.push(self.one()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expression::And(parts) })
    }

    fn one(&mut self) -> Result<Expression> {
        if self.take("(") {
            let inner = self.or()?;
            ensure!(self.take(")"), "a parenthesis is not closed");
            return Ok(inner);
        }
        let id = self.name()?;
        let exception = if self.take("WITH") { Some(self.name()?) } else { None };
        Ok(Expression::Licence { id, exception })
    }
}

#[cfg(test)]
mod tests {
    use super::{Expression, parse};

    fn allows(text: &str) -> bool {
        parse(text).unwrap().allows(&["MIT", "Apache-2.0", "Unicode-3.0"], &["LLVM-exception"])
    }

    #[test]
    fn one_good_branch_of_a_choice_is_enough() {
        assert!(allows("MIT"));
        assert!(allows("MIT OR GPL-3.0-only"));
        assert!(allows("MIT/GPL-3.0"));
        assert!(allows("GPL-2.0 / Apache-2.0"));
        assert!(!allows("GPL-2.0"));
        assert!(!allows("LGPL-2.1 OR MPL-2.0"));
    }

    #[test]
    fn all_parts_of_a_conjunction_count() {
        assert!(allows("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(!allows("(MIT OR Apache-2.0) AND MPL-2.0"));
        assert!(!allows("MIT AND GPL-2.0"));
    }

    #[test]
    fn and_binds_tighter_than_or() {
        assert!(allows("MIT OR MPL-2.0 AND GPL-2.0"));
        assert!(allows("GPL-2.0 AND MPL-2.0 OR MIT"));
        assert!(!allows("(MIT OR MPL-2.0) AND GPL-2.0"));
        let licence = |id: &str| Expression::Licence { id: id.to_owned(), exception: None };
        let and = Expression::And(vec![licence("B"), licence("C")]);
        assert_eq!(parse("A or B and C").unwrap(), Expression::Or(vec![licence("A"), and]));
    }

    #[test]
    fn exceptions_are_looked_at() {
        assert!(allows("Apache-2.0 WITH LLVM-exception OR GPL-3.0"));
        assert!(!allows("Apache-2.0 WITH Unheard-of-exception"));
        assert!(!allows("GPL-3.0 WITH LLVM-exception"));
        assert!(allows("MIT+"));
    }

    #[test]
    fn nonsense_is_an_error_not_a_pass() {
        for text in ["", "MIT OR", "OR MIT", "(MIT", "MIT)", "MIT Apache-2.0", "MIT WITH", "()", "AND"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
