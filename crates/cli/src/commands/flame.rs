//! `gpuscope flame`: the call tree drawn.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use gpuscope_analysis::Flame;
use gpuscope_analysis::flame::{FlameAnswer, Paths, RunFlame, Weight};
use gpuscope_job::Outcome;
use gpuscope_report::flame::{Direction, FlameGraph, Order};
use gpuscope_trace::Ns;

use super::options;
use crate::Console;
use crate::args::{Asked, FlameArgs, FlameOrder, FlamePaths, StackWeight};
use crate::exit::{Exit, Failure};
use crate::output::{Output, spare, unwritable, writable};

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
        let outcome = answer(asked, wanted, Some(file), console)?;
        let unwritable = |source| unwritable(file, source);
        let mut out = BufWriter::new(File::create(file).map_err(unwritable)?);
        draw(&outcome.answer, drawn, &asked.traces.join(" "), wanted, &mut out).map_err(unwritable)?;
        out.flush().map_err(unwritable)?;
    } else {
        let output = Output::new(&asked.output)?;
        let outcome = answer(asked, wanted, file, console)?;
        output.write("flame", &outcome, console)?;
    }
    Ok(Exit::DONE)
}

fn named(file: &Path) -> Option<Drawn> {
    let name = file.file_name()?.to_string_lossy().to_ascii_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if ends(&[".html", ".htm"]) {
        Some(Drawn::Page)
    } else if ends(&[".svg"]) {
        Some(Drawn::Svg)
    } else if ends(&[".png"]) {
        Some(Drawn::Png)
    } else if ends(&[".pdf"]) {
        Some(Drawn::Pdf)
    } else if ends(&[".collapsed", ".folded"]) {
        Some(Drawn::Collapsed)
    } else {
        ends(&[".speedscope.json"]).then_some(Drawn::Speedscope)
    }
}

fn answer(
    asked: &Asked,
    wanted: &FlameArgs,
    file: Option<&Path>,
    console: &Console<'_>,
) -> Result<Outcome<FlameAnswer>, Failure> {
    let microseconds = |us: f64| Ns((us * 1e3).round() as i64);
    let question = Flame {
        by: match wanted.by {
            StackWeight::Gpu => Weight::Gpu,
            StackWeight::Host => Weight::Host,
            StackWeight::Bytes => Weight::Bytes,
        },
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
        file.map_or(Ok(()), |file| spare(file, |file| run.reads(file)))?;
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
