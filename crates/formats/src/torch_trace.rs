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

use std::io::{BufRead, BufReader, Read};

use gpuscope_trace::compile_log::CompileLog;

use crate::ReadError;
use crate::decompress::Compressed;
use line::Line;
use reader::Reader;

/// What such files are called as inputs.
pub const FORMAT: &str = "torch_trace";

/// What is longer is no line of a log: the rest of it is passed over.
const LONGEST_LINE: u64 = 64 << 20;

/// Whether a text begins like one; other output may come first.
pub fn is_one(head: &[u8]) -> bool {
    head.split(|byte| *byte == b'\n').any(|text| matches!(line::line(text), Line::Record { .. }))
}

/// Reads one file, plain or compressed: the logs of the processes that wrote to it, by rank.
pub fn read(input: impl Read) -> Result<Vec<CompileLog>, ReadError> {
    let mut text = BufReader::with_capacity(256 << 10, Compressed::new(input)?.open()?);
    let mut reader = Reader::default();
    let mut buffer = Vec::new();
    let broken = loop {
        buffer.clear();
        match text.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut buffer) {
            Ok(0) => break None,
            Ok(_) => {
                let is_whole = buffer.last() == Some(&b'\n');
                reader.line(buffer.strip_suffix(b"\n").unwrap_or(&buffer), is_whole);
            }
            Err(error) if reader.has_read() => break Some(error.to_string()),
            Err(error) => return Err(error.into()),
        }
    };
    reader.finish(broken)
}

#[cfg(test)]
mod tests;
