//! `gpuscope critical-path`

use gpuscope_analysis::CriticalPath;
use gpuscope_analysis::critical_path::{Instances, WindowOf};

use super::answer;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(
    asked: &Asked,
    annotation: Option<String>,
    instance: (usize, usize),
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let instances = Instances { first: instance.0, last: instance.1 };
    let window = match annotation {
        Some(containing) if containing.is_empty() => WindowOf::Everything,
        Some(containing) => WindowOf::Annotation { containing, instances },
        None => WindowOf::MiddleStep,
    };
    answer("critical-path", &CriticalPath { window }, asked, console)
}
