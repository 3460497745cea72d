//! The structured logs of torch.compile (`TORCH_TRACE=folder python train.py`).
//!
//! A record is one line: `V0401 12:34:56.123456 4242 torch/_dynamo/utils.py:2132] {"dynamo_start": {…}, …}`, a glog
//! prefix and a JSON object. Its payload, if it has one, is on the lines that follow, each behind a tab. Frames, ids of
//! compilations and attempts are members of the object; file names are numbers that earlier records explain.
//!
//! Lines that are neither are passed over and counted, as are records that are no JSON: logs are cut off by crashes and
//! mixed with other output.

mod break_reason;
mod envelope;
mod event;
mod graph;
mod line;
mod output_code;
mod process;
mod reader;

use std::io::Read;

use gpuscope_trace::compile_log::CompileLog;
use gpuscope_trace::metadata::Distributed;
use gpuscope_trace::{Payload, Trace};

use crate::{Parsed, Poured, ReadError, ReadOptions, Stream, pour};
use line::Line;
use reader::Reader;

/// What such files are called as inputs.
pub const FORMAT: &str = "torch_trace";

/// What is longer is no line of a log: the rest of it is passed over.
const LONGEST_LINE: usize = 64 << 20;

/// Whether a text begins like one; other output may come first.
pub fn is_one(head: &[u8]) -> bool {
    head.split(|byte| *byte == b'\n').any(|text| matches!(line::line(text), Line::Record { .. }))
}

/// Reads one file, plain or compressed: the logs of the processes that wrote to it, by rank.
pub fn read(input: impl Read + Send) -> Result<Vec<CompileLog>, ReadError> {
    let mut lines = Lines::default();
    let poured = pour(input, ReadOptions::default(), &mut lines)?;
    lines.reader.finish(poured.broken.map(|broken| broken.why))
}

/// Takes a log in as its text comes.
#[derive(Debug, Default)]
pub struct Lines {
    reader: Reader,
}

impl Stream for Lines {
    fn feed(&mut self, buffer: &[u8], from: usize, to: usize, last: bool) -> Result<usize, ReadError> {
        let mut at = from;
        while at < to {
            let rest = &buffer[at..to];
            match memchr::memchr(b'\n', rest) {
                Some(end) => {
                    self.reader.line(&rest[..end], true);
                    at += end + 1;
                }
                None if last || rest.len() >= LONGEST_LINE => {
                    self.reader.line(rest, false);
                    at = to;
                }
                None => break,
            }
        }
        Ok(at)
    }

    fn taken(&self) -> (u64, u64) {
        (self.reader.text_bytes(), self.reader.records())
    }

    fn finish(self: Box<Self>, poured: &Poured) -> Result<Parsed, ReadError> {
        let logs = self.reader.finish(poured.broken.as_ref().map(|broken| broken.why.clone()))?;
        let trace = |mut log: CompileLog| {
            let mut trace = Trace { elements: log.records, ..Trace::default() };
            trace.quality = std::mem::take(&mut log.quality);
            let rank = log.rank.map(|rank| Distributed { rank: Some(rank.into()), ..Distributed::default() });
            trace.metadata.distributed = rank;
            trace.payload = Some(Payload::CompileLog(log));
            trace
        };
        Ok(Parsed { traces: logs.into_iter().map(trace).collect(), format: FORMAT })
    }
}

#[cfg(test)]
mod tests;
