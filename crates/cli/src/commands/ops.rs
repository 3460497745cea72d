//! `gpuscope ops`

use gpuscope_analysis::Ops;
use gpuscope_analysis::ops;

use super::answer;
use crate::Console;
use crate::args::{By, OpsArgs};
use crate::exit::{Exit, Failure};

pub(crate) fn run(ops: &OpsArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let by = match ops.by {
        _ if ops.unique_args => ops::By::Arguments,
        By::Args => ops::By::Arguments,
        By::Name => ops::By::Name,
        By::Category => ops::By::Category,
    };
    answer("ops", &Ops { by, recompute: ops.recompute, top: ops.top, ..Ops::default() }, &ops.asked, console)
}
