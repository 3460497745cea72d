//! `gpuscope breakdown`

use gpuscope_analysis::{Breakdown, StepMarker};
use regex_lite::Regex;

use super::answer;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(
    asked: &Asked,
    micro_idle_us: Option<f64>,
    step_marker: Option<&str>,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let mut question =
        Breakdown { step_marker: step_marker.map(marker).transpose()?, ..Breakdown::default() };
    if let Some(us) = micro_idle_us {
        question = question.micro_idle_us(us);
    }
    answer("breakdown", &question, asked, console)
}

fn marker(pattern: &str) -> Result<StepMarker, Failure> {
    let expression = Regex::new(pattern).map_err(|error| {
        Failure::usage(
            format!("--step-marker {pattern}: {error}"),
            "the expression is matched against the names of annotations: --step-marker '^train_step'",
        )
    })?;
    Ok(StepMarker::new(move |name| expression.is_match(name)))
}
