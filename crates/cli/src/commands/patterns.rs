//! `gpuscope patterns`

use gpuscope_analysis::Patterns;

use super::answer;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(asked: &Asked, patterns: &Patterns, console: &mut Console<'_>) -> Result<Exit, Failure> {
    answer("patterns", patterns, asked, console)
}
