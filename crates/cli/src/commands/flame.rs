//! `gpuscope flame`: the call tree drawn.

use std::io::{self, Write};
use std::path::Path;

use gpuscope_analysis::Flame;
use gpuscope_analysis::flame::{FlameAnswer, Paths, RunFlame};
use gpuscope_files::FileKind;
use gpuscope_job::Outcome;
use gpuscope_report::flame::{Direction, FlameGraph, Order};
use gpuscope_trace::Ns;

use super::options;
use crate::Console;
use crate::args::{Asked, FlameArgs, FlameOrder, FlamePaths, StackWeight};
use crate::exit::{Exit, Failure};
use crate::output::{Output, writable, write_file};

/// What a file can be besides those of every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drawn {
    Page,
    Svg,
    Png,
    Pdf,
    Collapsed,
    Speedscope,
}

pub(crate) fn run(asked: &Asked, wanted: &FlameArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let file = asked.output.output.as_deref();
    let drawn = file.filter(|_| !asked.output.json && !asked.output.csv).and_then(named);
    if let (Some(file), Some(drawn)) = (file, drawn) {
        writable(file, false)?;
        let file = console.files.writes("-o", file)?;
        let outcome = answer(asked, wanted, console)?;
        write_file(&file, |out| draw(&outcome.answer, drawn, &asked.traces.join(" "), wanted, out))?;
    } else {
        let output = Output::new(&asked.output, console)?;
        let outcome = answer(asked, wanted, console)?;
        output.write("flame", &outcome, console)?;
    }
    Ok(Exit::DONE)
}

const DRAWN: [(FileKind, Drawn); 6] = [
    (FileKind::Html, Drawn::Page),
    (FileKind::Svg, Drawn::Svg),
    (FileKind::Png, Drawn::Png),
    (FileKind::Pdf, Drawn::Pdf),
    (FileKind::Folded, Drawn::Collapsed),
    (FileKind::Speedscope, Drawn::Speedscope),
];

fn named(file: &Path) -> Option<Drawn> {
    FileKind::choose(&DRAWN, file).ok()
}

fn answer(asked: &Asked, wanted: &FlameArgs, console: &Console<'_>) -> Result<Outcome<FlameAnswer>, Failure> {
    let microseconds = |us: f64| Ns((us * 1e3).round() as i64);
    let question = Flame {
        by: wanted.by.weight(),
        samples: wanted.by == StackWeight::Samples,
        paths: match wanted.stacks {
            FlamePaths::Python => Paths::Python,
            FlamePaths::Modules => Paths::Modules,
            FlamePaths::Operators => Paths::Operators,
        },
        max_depth: wanted.max_depth,
        min: wanted.min_duration_us.map_or(Ns::ZERO, microseconds),
        small: microseconds(wanted.small_kernels_us),
        least_share: 0.0,
        compared: wanted.against.is_some(),
    };
    let ask = |traces: &[String]| -> Result<Outcome<RunFlame>, Failure> {
        let run = console.open(traces, options(asked, console)?)?;
        Ok(run.ask(&question)?)
    };
    let now = ask(&asked.traces)?;
    let Some(other) = &wanted.against else {
        let Outcome { answer, inputs, quality } = now;
        return Ok(Outcome { answer: answer.answer(), inputs, quality });
    };
    let before = ask(std::slice::from_ref(other))?;
    Ok(Outcome {
        answer: now.answer.against(&before.answer),
        inputs: before.inputs.into_iter().chain(now.inputs).collect(),
        quality: before.quality.into_iter().chain(now.quality).collect(),
    })
}

fn draw(
    answer: &FlameAnswer,
    drawn: Drawn,
    title: &str,
    wanted: &FlameArgs,
    out: impl Write,
) -> io::Result<()> {
    let direction = if wanted.upwards { Direction::Flame } else { Direction::Icicle };
    let order = if wanted.order == FlameOrder::Time { Order::Time } else { Order::Heavy };
    let graph = FlameGraph { answer, title, direction, order };
    match drawn {
        Drawn::Page => graph.write_page(out),
        Drawn::Svg => graph.write_svg(out),
        Drawn::Png => graph.write_png(out),
        Drawn::Pdf => graph.write_pdf(out),
        Drawn::Collapsed => graph.write_folded(out),
        Drawn::Speedscope => graph.write_speedscope(out),
    }
}
