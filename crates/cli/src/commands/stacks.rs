//! `gpuscope stacks`: the call tree as a table, or for tools that draw flame graphs.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use gpuscope_analysis::Stacks;
use gpuscope_analysis::stacks::{RankStacks, StacksAnswer, Weight};
use gpuscope_report::flame::{self, Flame, FlameUnit, Frame};

use super::{answer, names, options};
use crate::Console;
use crate::args::{Asked, FlameFormat, StackArgs, StackWeight};
use crate::exit::{Exit, Failure};
use crate::output::{spare, unwritable, writable};

pub(crate) fn run(asked: &Asked, wanted: &StackArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let question = Stacks {
        filter: wanted.filter.as_deref().map(|filter| names("--filter", filter)).transpose()?,
        depth: wanted.depth,
        min: wanted.min_us.map_or(0, |us| (us * 1e3).round() as i64),
        by: match wanted.by {
            StackWeight::Gpu => Weight::Gpu,
            StackWeight::Host => Weight::Host,
            StackWeight::Bytes => Weight::Bytes,
        },
        everything: wanted.all,
        thread: wanted.thread.clone(),
        backward_below_forward: wanted.link_backward,
    };
    let by_name =
        asked.output.output.as_deref().filter(|_| !asked.output.json && !asked.output.csv).and_then(named);
    match wanted.format.or(by_name) {
        Some(format) => draw(&question, format, asked, console),
        None => answer("stacks", &question, asked, console),
    }
}

fn named(file: &Path) -> Option<FlameFormat> {
    let name = file.file_name()?.to_string_lossy().to_ascii_lowercase();
    if name.ends_with(".collapsed") || name.ends_with(".folded") {
        Some(FlameFormat::Collapsed)
    } else {
        name.ends_with(".speedscope.json").then_some(FlameFormat::Speedscope)
    }
}

fn draw(
    question: &Stacks,
    format: FlameFormat,
    asked: &Asked,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let file = asked.output.output.as_deref();
    if let Some(file) = file {
        writable(file, false)?;
    }
    let run = console.open(&asked.traces, options(asked, console)?)?;
    if let Some(file) = file {
        spare(file, |file| run.reads(file))?;
    }
    let outcome = run.ask(question)?;
    if let Some(file) = file {
        let unwritable = |source| unwritable(file, source);
        let mut out = BufWriter::new(File::create(file).map_err(unwritable)?);
        write(&outcome.answer, format, &mut out).and_then(|()| out.flush()).map_err(unwritable)?;
    } else {
        write(&outcome.answer, format, &mut console.out)?;
    }
    Ok(Exit::DONE)
}

fn write(answer: &StacksAnswer, format: FlameFormat, out: impl Write) -> io::Result<()> {
    let flames: Vec<Flame<'_>> = answer.ranks.iter().map(tree).collect();
    let unit = if answer.by == Weight::Bytes { FlameUnit::Bytes } else { FlameUnit::Nanoseconds };
    match format {
        FlameFormat::Collapsed => flame::write_folded(&flames, out),
        FlameFormat::Speedscope => flame::write_speedscope(&flames, unit, out),
    }
}

fn tree(rank: &RankStacks) -> Flame<'_> {
    let frames =
        rank.nodes.iter().map(|node| Frame { name: &node.name, depth: node.depth as usize, own: node.own });
    Flame { name: format!("rank {}", rank.rank), frames: frames.collect() }
}
