//! `cargo xtask bench`: how fast gpuscope is, beside what the machine allows and what others need.
//!
//! Everything is measured in one run, interleaved, because numbers of different hours on a shared machine cannot
//! be compared; the ratios are what counts. Nothing here fails on time: it prints `met` or `not met`.

mod acceptance;
mod cases;
mod decimal;
pub(crate) mod document;
pub(crate) mod exports;
pub(crate) mod inputs;
mod repeat;
mod table;

use anyhow::{Result, ensure};

use crate::args::Args;
use crate::workspace::{self, Workspace};
use crate::{size, venv};

#[derive(Debug)]
pub(crate) struct Options {
    /// Sizes of the made-up traces, as written; real traces are repeated up to the first.
    sizes: Vec<String>,
    rounds: usize,
    peers: bool,
    /// A look at the numbers: small, once, without real traces, and not written down.
    quick: bool,
}

impl Options {
    pub(crate) fn read(args: &mut Args) -> Result<Self> {
        let quick = args.flag("--quick");
        let peers = !args.flag("--no-peers");
        let sizes =
            args.value("--size")?.unwrap_or_else(|| if quick { "60MB" } else { "240MB,1GB" }.to_owned());
        let sizes: Vec<String> = sizes.split(',').map(str::to_owned).collect();
        for text in &sizes {
            size::parse(text)?;
        }
        Ok(Self { sizes, rounds: if quick { 1 } else { 3 }, peers, quick })
    }
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let binary = workspace.release_binary()?;
    let cache = workspace::cache()?;
    let python = if options.peers { Some(venv::python(&cache)?) } else { None };
    let folder = cache.join("bench");
    let mut inputs = Vec::new();
    for size in &options.sizes {
        inputs.push(inputs::demo(&binary, &folder, size)?);
    }
    let small = inputs::demo(&binary, &folder, "20MB")?;
    match workspace.corpus() {
        Some(corpus) if !options.quick => inputs.extend(inputs::corpus(&corpus, &folder, &options.sizes[0])?),
        Some(_) => println!("--quick: no real traces"),
        None => println!("real traces: SKIPPED, no ../shared"),
    }

    let mut cases = cases::plan(&binary, python.as_deref(), &inputs, options.rounds);
    cases::run(&mut cases, &inputs, options.rounds);
    let shell = cases::median_wall(&binary, &small, if options.quick { 5 } else { 20 });
    let table = table::markdown(&cases, &inputs);
    let checks = acceptance::checks(&cases, &inputs, shell);
    println!("\n{table}\nacceptance\n{}", acceptance::text(&checks));
    if options.quick {
        println!("--quick: BENCHMARKS.md is left as it is");
    } else {
        let (file, checks) = (workspace.root.join("BENCHMARKS.md"), acceptance::text(&checks));
        document::update(&file, document::BENCH, &table, &checks)?;
        println!("BENCHMARKS.md is up to date");
    }
    let broken = cases.iter().filter(|c| c.tool.is_gpuscope() && c.fault.is_some()).count();
    ensure!(broken == 0, "{broken} of gpuscope's own runs failed; see above");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Options;
    use crate::args::Args;

    #[test]
    fn options() {
        let read = |text: &str| Options::read(&mut Args::of(text));
        let plain = read("").unwrap();
        assert_eq!((plain.sizes.join(" "), plain.rounds, plain.peers), ("240MB 1GB".to_owned(), 3, true));
        let quick = read("--quick --no-peers --size 5MB").unwrap();
        assert_eq!((quick.sizes.join(" "), quick.rounds, quick.peers), ("5MB".to_owned(), 1, false));
        assert!(read("--size 5MB,x").is_err());
    }
}
