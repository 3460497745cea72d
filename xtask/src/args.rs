//! The few flags these commands take. A parser crate would be most of the compile time of this one.

use std::collections::VecDeque;

use anyhow::{Result, bail};

/// What is left of the command line.
#[derive(Debug)]
pub(crate) struct Args(VecDeque<String>);

impl Args {
    pub(crate) fn from_env() -> Self {
        Self(std::env::args().skip(1).collect())
    }

    #[cfg(test)]
    pub(crate) fn of(text: &str) -> Self {
        Self(text.split_whitespace().map(str::to_owned).collect())
    }

    /// The first word.
    pub(crate) fn command(&mut self) -> Option<String> {
        self.0.pop_front()
    }

    /// Takes `name` if it is there.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let found = self.0.iter().position(|a| a == name);
        found.is_some_and(|at| self.0.remove(at).is_some())
    }

    /// Takes `name VALUE` or `name=VALUE` if it is there.
    pub(crate) fn value(&mut self, name: &str) -> Result<Option<String>> {
        if let Some(at) = self.0.iter().position(|a| a == name) {
            self.0.remove(at);
            return match self.0.remove(at) {
                Some(value) if !value.starts_with("--") => Ok(Some(value)),
                _ => bail!("{name} needs a value"),
            };
        }
        let prefix = format!("{name}=");
        let found = self.0.iter().position(|a| a.starts_with(&prefix));
        Ok(found.and_then(|at| self.0.remove(at)).map(|a| a[prefix.len()..].to_owned()))
    }

    /// Everything that is left.
    pub(crate) fn rest(&mut self) -> Vec<String> {
        self.0.drain(..).collect()
    }

    /// Nothing may be left: a misspelt flag must not be ignored.
    pub(crate) fn finish(&self) -> Result<()> {
        match self.0.front() {
            Some(first) => {
                bail!("unknown argument `{first}`; `cargo xtask help` lists what each command takes")
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Args;

    #[test]
    fn flags_and_values_are_taken_in_any_order() {
        let mut a = Args::of("bench --quick --size 1GB --no-peers");
        assert_eq!(a.command().as_deref(), Some("bench"));
        assert_eq!(a.value("--size").unwrap().as_deref(), Some("1GB"));
        assert!(a.flag("--no-peers") && a.flag("--quick") && !a.flag("--quick"));
        assert!(a.finish().is_ok());
        assert_eq!(Args::of("--size=5MB").value("--size").unwrap().as_deref(), Some("5MB"));
    }

    #[test]
    fn what_is_not_known_is_refused() {
        assert!(Args::of("--quik").finish().is_err());
        assert!(Args::of("--size").value("--size").is_err());
        assert!(Args::of("--size --quick").value("--size").is_err());
    }
}
