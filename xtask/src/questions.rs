//! `cargo xtask questions`: what every question costs, beside reading the trace, and how that grows.
//!
//! The program that measures is `crates/analysis/examples/cost.rs`: one trace in memory, one question after the
//! other, CPU time of one thread. Nothing here fails on time: it prints `met` or `NOT MET`.

mod table;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::args::Args;
use crate::bench::{document, inputs};
use crate::steps;
use crate::workspace::{self, Workspace};

/// What the program calls the row that is no question.
pub(crate) const READING: &str = "reading";
/// And the one that is all of them.
pub(crate) const TOGETHER: &str = "together";
const EVENTS: &str = "events";

/// The real trace that HTA was measured on, and made-up ones of about 100 k, 1 M and 10 M events.
const REAL: &str = "trace_diff_control";
const SIZES: [&str; 2] = ["30MB", "300MB"];
const LARGE: &str = "3GB";

#[derive(Debug)]
pub(crate) struct Options {
    large: bool,
    rounds: u32,
}

impl Options {
    pub(crate) fn read(args: &mut Args) -> Result<Self> {
        let large = args.flag("--large");
        let rounds = args.value("--rounds")?.map_or(Ok(3), |text| text.parse()).context("--rounds")?;
        Ok(Self { large, rounds })
    }
}

/// One trace: events, and milliseconds by question in the order they were asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Costs {
    pub(crate) events: f64,
    pub(crate) ms: Vec<(String, f64)>,
}

impl Costs {
    /// From what the program prints: a name and a number on each line.
    fn parse(text: &str) -> Result<Self> {
        let row = |line: &str| -> Option<(String, f64)> {
            let (name, number) = line.split_once(' ')?;
            Some((name.to_owned(), number.trim().parse().ok()?))
        };
        let rows: Option<Vec<(String, f64)>> = text.lines().map(row).collect();
        let mut ms = rows.with_context(|| format!("not a name and a number on each line: {text}"))?;
        let at = ms.iter().position(|(name, _)| name == EVENTS).context("it does not say how many events")?;
        let (_, events) = ms.remove(at);
        Ok(Self { events, ms })
    }

    pub(crate) fn of(&self, name: &str) -> Option<f64> {
        self.ms.iter().find(|(of, _)| of == name).map(|(_, ms)| *ms)
    }
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let (binary, program) = (workspace.release_binary()?, workspace.cost_example()?);
    let cache = workspace::cache()?.join("bench");
    let measure = |trace: &Path, rounds: u32| -> Result<Costs> {
        println!("asking {}", trace.display());
        let text = steps::capture(Command::new(&program).arg(trace).arg(rounds.to_string()))?;
        print!("{text}");
        Costs::parse(&text)
    };
    let real = workspace.corpus().map(|shared| shared.join("traces").join(format!("{REAL}.json.gz")));
    let real = real.filter(|path| path.is_file());
    if real.is_none() {
        println!("{REAL}: SKIPPED, no ../shared");
    }
    let real = real.map(|path| measure(&path, options.rounds)).transpose()?;
    let mut made_up = Vec::new();
    for size in SIZES {
        made_up.push(measure(&inputs::made_up(&binary, &cache, size)?, options.rounds)?);
    }
    if options.large {
        made_up.push(measure(&inputs::made_up(&binary, &cache, LARGE)?, 1)?);
    }
    let (table, checks) = (table::markdown(real.as_ref(), &made_up), table::checks(real.as_ref(), &made_up));
    println!("\n{table}\n{checks}");
    document::update(&workspace.root.join("BENCHMARKS.md"), document::QUESTIONS, &table, &checks)?;
    println!("BENCHMARKS.md is up to date");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Costs, Options};
    use crate::args::Args;

    #[test]
    fn what_the_program_prints_is_read() {
        let costs = Costs::parse("events  10.000\nreading  2.5\nidle   0.125\n").unwrap();
        assert_eq!((costs.events, costs.of("idle"), costs.of("events")), (10.0, Some(0.125), None));
        assert!(Costs::parse("reading 2.5\n").is_err());
        assert!(Costs::parse("events ten\n").is_err());
    }

    #[test]
    fn options() {
        let read = |text: &str| Options::read(&mut Args::of(text));
        let plain = read("").unwrap();
        assert_eq!((plain.large, plain.rounds), (false, 3));
        let large = read("--large --rounds 5").unwrap();
        assert_eq!((large.large, large.rounds), (true, 5));
        assert!(read("--rounds x").is_err());
    }
}
