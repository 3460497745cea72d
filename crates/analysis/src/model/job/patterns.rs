//! Names that a user meant.

use std::fmt;
use std::sync::Arc;

/// Decides by name; given as a function, since what an expression looks like is not for an analysis to know.
#[derive(Clone)]
pub struct NamePattern {
    pub text: String,
    is_match: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

impl NamePattern {
    pub fn new(text: &str, is_match: impl Fn(&str) -> bool + Send + Sync + 'static) -> NamePattern {
        NamePattern { text: text.to_owned(), is_match: Arc::new(is_match) }
    }

    pub fn is_match(&self, name: &str) -> bool {
        (self.is_match)(name)
    }
}

impl fmt::Debug for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NamePattern").field(&self.text).finish()
    }
}
