//! `gpuscope profile TRACE`; programs are run by `record`.

use gpuscope_analysis::Profile;

use super::answer;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    answer("profile", &Profile, asked, console)
}
