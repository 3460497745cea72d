//! Which annotations begin a step, where the user says so.

use std::fmt;
use std::sync::Arc;

/// A test on the names of host annotations, such as a regular expression. Each annotation that passes is a
/// step; they are numbered from 0 by their start.
#[derive(Clone)]
pub struct StepMarker(Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl StepMarker {
    pub fn new(is_step: impl Fn(&str) -> bool + Send + Sync + 'static) -> StepMarker {
        StepMarker(Arc::new(is_step))
    }

    pub fn is_step(&self, name: &str) -> bool {
        (self.0)(name)
    }
}

impl fmt::Debug for StepMarker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StepMarker")
    }
}
