//! `gpuscope stacks`: the call tree as a table, or for tools that draw flame graphs.

use std::io::{self, Write};
use std::path::Path;

use gpuscope_analysis::Stacks;
use gpuscope_analysis::stacks::{RankStacks, StacksAnswer, Weight};
use gpuscope_files::FileKind;
use gpuscope_report::flame::{self, Flame, FlameUnit, Frame};

use super::{answer, names, options};
use crate::Console;
use crate::args::{Asked, FlameFormat, StackArgs, StackWeight};
use crate::exit::{Exit, Failure};
use crate::output::{writable, write_file};

pub(crate) fn run(asked: &Asked, wanted: &StackArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let question = Stacks {
        filter: wanted.filter.as_deref().map(|filter| names("--filter", filter)).transpose()?,
        depth: wanted.depth,
        min: wanted.min_us.map_or(0, |us| (us * 1e3).round() as i64),
        by: wanted.by.weight(),
        samples: wanted.by == StackWeight::Samples,
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
    let formats =
        [(FileKind::Folded, FlameFormat::Collapsed), (FileKind::Speedscope, FlameFormat::Speedscope)];
    FileKind::choose(&formats, file).ok()
}

fn draw(
    question: &Stacks,
    format: FlameFormat,
    asked: &Asked,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let file = match asked.output.output.as_deref() {
        Some(file) => {
            writable(file, false)?;
            Some(console.files.writes("-o", file)?)
        }
        None => None,
    };
    let outcome = console.open(&asked.traces, options(asked, console)?)?.ask(question)?;
    if let Some(file) = &file {
        write_file(file, |out| write(&outcome.answer, format, out))?;
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
