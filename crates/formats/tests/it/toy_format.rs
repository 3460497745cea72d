//! A format from outside: one module and one line in a table are all there is to adding one.

use std::path::Path;

use gpuscope_formats::format::Read;
use gpuscope_formats::{
    FORMATS, Format, Head, Parsed, Poured, ReadError, ReadOptions, Reading, Stream, read_as,
};
use gpuscope_trace::{Builder, Holds, Id, Ns, Phase, Record, Trace};

/// `toy` and lines of `stream start duration name`, one for each kernel.
#[derive(Default)]
struct Toy {
    builder: Builder,
    kernels: u64,
}

impl Stream for Toy {
    fn feed(&mut self, buffer: &[u8], from: usize, to: usize, last: bool) -> Result<usize, ReadError> {
        let mut at = from;
        while let Some(length) =
            buffer[at..to].iter().position(|byte| *byte == b'\n').or(last.then_some(to - at))
        {
            self.line(&buffer[at..at + length]);
            at = (at + length + 1).min(to);
            if at == to {
                break;
            }
        }
        Ok(at)
    }

    fn taken(&self) -> (u64, u64) {
        (self.builder.heap_bytes() as u64, self.kernels)
    }

    fn finish(self: Box<Self>, _poured: &Poured) -> Result<Parsed, ReadError> {
        Ok(Parsed { traces: vec![self.builder.finish()], format: "toy" })
    }
}

impl Toy {
    fn line(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let words: Vec<&str> = line.split(' ').collect();
        let [stream, start, dur, name] = words[..] else { return };
        let category = self.builder.strings().intern(b"kernel");
        let mut record = Record::default();
        record.tag = self.builder.tag(Phase::Complete, category);
        record.name = self.builder.strings().intern(name.as_bytes());
        record.stream = stream.parse().map_or(Id::Absent, Id::Int);
        (record.start, record.dur) = (start.parse().ok().map(Ns), dur.parse().ok().map(Ns));
        self.builder.push(&record);
        self.kernels += 1;
    }
}

/// The same as a file that is read by its place.
fn by_place(path: &Path, _reading: &Reading<'_>) -> Result<Parsed, ReadError> {
    let text = std::fs::read_to_string(path)?;
    Ok(Parsed { traces: vec![Trace { elements: text.len() as u64, ..Trace::default() }], format: "toy_file" })
}

static TABLE: [Format; 3] = [
    Format {
        name: "toy",
        title: "a toy",
        recognise: |head| head.starts_with(b"toy\n"),
        read: Read::Stream(|| Box::<Toy>::default()),
        ..Format::USUAL
    },
    Format {
        name: "toy_file",
        title: "a toy in a file",
        recognise: |head| head.starts_with(b"toy file"),
        read: Read::File(by_place),
        ..Format::USUAL
    },
    Format {
        title: "a broken toy",
        recognise: |head| head.starts_with(b"toy broken"),
        read: Read::Not("mend FILE"),
        ..Format::USUAL
    },
];

fn read(text: &[u8]) -> Result<Vec<Trace>, ReadError> {
    let options = ReadOptions { chunk_bytes: 7, ..ReadOptions::default() };
    read_as(&TABLE, text, options).map(|loaded| loaded.traces)
}

#[test]
fn a_line_in_the_table_is_all_that_a_format_needs() {
    let text = b"toy\n7 100 50 gemm\n7 160 5 relu\n";
    let traces = read(text).unwrap();
    let names: Vec<&str> = traces[0].rows().map(|row| traces[0].name(row)).collect();
    assert_eq!(names, ["gemm", "relu"]);
    assert_eq!(traces[0].extent(), Some((Ns(100), Ns(165))));
    let packed = zstd::encode_all(&text[..], 1).unwrap();
    assert_eq!(read(&packed).unwrap()[0].len(), 2, "whatever it is compressed by");
}

#[test]
fn what_must_be_a_file_is_kept_in_one_for_as_long_as_it_is_read() {
    let packed = zstd::encode_all(&b"toy file of 21 bytes."[..], 1).unwrap();
    assert_eq!(read(&packed).unwrap()[0].elements, 21);
}

#[test]
fn what_is_known_and_not_read_says_what_to_do() {
    let error = read(b"toy broken").unwrap_err().to_string();
    assert_eq!(error, "this is a broken toy; mend FILE");
}

#[test]
fn every_line_of_the_own_table_can_be_told_from_the_others() {
    for (sample, name, holds) in [
        (&b"{\"traceEvents\": []}"[..], "kineto", Holds::Events),
        (b"[[1, 0, 2, 3]]", "memory_timeline", Holds::MemoryTimeline),
        (
            b"V0401 12:34:56.123456 4242 torch/x.py:7] {\"str\": [\"a\", 0]}\n",
            "torch_trace",
            Holds::CompileLog,
        ),
        (b"==PROF== x\n\"ID\",\"Process ID\",\"Kernel Name\"\n", "ncu", Holds::Metrics),
        (b"Time (%),Total Time (ns),Instances,Avg (ns),Name\n", "nsys_stats", Holds::KernelSums),
        (b"SQLite format 3\0", "nsys", Holds::Events),
        (b"Time (%),Total Time (ns),Num Calls,Avg (ns),Name\n", "", Holds::Events),
        (b"{\"Type\":48,\"CudaEvent\":{}}\n", "", Holds::Events),
        (b"PAR1\x15\x04", "", Holds::Events),
        (b"NVIDIA Tegra Profiler Report 2025", "nsys", Holds::Events),
        (b"NVR\0\x02", "ncu", Holds::Metrics),
        (b"\x80\x04\x95", "", Holds::Events),
        (b"heap profile: 1: 2", "", Holds::Events),
        (&[0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0], "", Holds::Events),
    ] {
        let format = Head::of(sample).unwrap().format().unwrap();
        assert_eq!((format.name, format.holds), (name, holds), "{}", sample.escape_ascii());
        let fitting = FORMATS.iter().filter(|format| (format.recognise)(sample)).count();
        // Some are JSON, too, and come before it.
        let is_json = name == "memory_timeline" || sample.starts_with(b"{\"Type\"");
        assert!(fitting == 1 || is_json, "{}", sample.escape_ascii());
    }
    assert!(Head::of(&b"hello"[..]).unwrap().format().is_none());
}
