//! The logs that torch.compile wrote: one file per process, as `TORCH_TRACE=folder` leaves them.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use gpuscope_analysis::compile::{self, CompileAnswer};
use gpuscope_formats::torch_trace;
use gpuscope_trace::compile_log::CompileLog;

use crate::error::Error;
use crate::inputs;
use crate::run::{InputInfo, Outcome, same_ranks, unreadable};
use crate::source::{self, Source};

/// The logs that were named, found in a folder or in an archive.
#[derive(Debug)]
pub struct CompileLogs {
    sources: Vec<Source>,
    /// What was named but gave nothing to read.
    failures: Vec<Arc<Error>>,
}

impl CompileLogs {
    pub fn open(arguments: &[String]) -> Result<CompileLogs, Error> {
        CompileLogs::open_with(arguments, &mut io::stdin().lock())
    }

    /// As [`CompileLogs::open`], with something else for standard input.
    pub fn open_with(arguments: &[String], stdin: &mut dyn Read) -> Result<CompileLogs, Error> {
        let inputs::Found { sources, failures } =
            inputs::find_wanted(arguments, stdin, |source| source.head.compile_log);
        let failures: Vec<Arc<Error>> = failures.into_iter().map(of_logs).map(Arc::new).collect();
        if sources.is_empty() {
            Err(Error::NoneReadable(failures))
        } else {
            Ok(CompileLogs { sources, failures })
        }
    }

    /// The files that are read, archives for what is in them: not to be written over.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        source::files(&self.sources)
    }

    /// Reads the logs one after the other, and says what was compiled.
    pub fn answer(&self) -> Result<Outcome<CompileAnswer>, Error> {
        let (mut inputs, mut locals) = (Vec::new(), Vec::new());
        let mut quality = Vec::new();
        let mut failures = self.failures.clone();
        for (place, source) in self.sources.iter().enumerate() {
            let logs = match read(source) {
                Ok(logs) => logs,
                Err(error) => {
                    failures.push(Arc::new(error));
                    continue;
                }
            };
            for log in logs {
                let rank = log.rank.or_else(|| named(source)).unwrap_or(place as u32);
                quality.extend(log.quality.iter().cloned().map(|note| note.of_rank(rank)));
                inputs.push(info(source, rank, &log));
                locals.push((rank, compile::local(rank, &log)));
            }
        }
        if locals.is_empty() {
            return Err(Error::NoneReadable(failures));
        }
        quality.extend(unreadable(&failures));
        // Each restart of a process leaves a log of its own.
        quality.extend(same_ranks("logs", inputs.iter()));
        locals.sort_by_key(|(rank, _)| *rank);
        inputs.sort_by_key(|input| input.rank);
        let answer = compile::merge(locals.into_iter().map(|(_, local)| local).collect());
        Ok(Outcome { inputs, quality, answer })
    }
}

fn of_logs(error: Error) -> Error {
    match error {
        Error::NoTraces { path, found } => Error::NoLogs { path, found },
        other => other,
    }
}

fn read(source: &Source) -> Result<Vec<CompileLog>, Error> {
    let read = source.with_reader(|reader| torch_trace::read(reader));
    read.map_err(|error| Error::io(&source.path, error))?.map_err(|error| Error::read(&source.path, error))
}

fn info(source: &Source, rank: u32, log: &CompileLog) -> InputInfo {
    InputInfo {
        path: source.path.clone(),
        format: torch_trace::FORMAT,
        rank,
        events: log.records,
        bytes: source.bytes,
        world_size: None,
        container: source.container,
    }
}

/// `dedicated_log_torch_trace_rank_3_x7k2.log`; the end is random, and may look like anything.
fn named(source: &Source) -> Option<u32> {
    let (_, rest) = source.base_name().split_once("rank_")?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}
