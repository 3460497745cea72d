//! The formats that are known, a line each: how a file of it is told, what it holds, and how it is read.
//!
//! A format is told by the first bytes of its text, after decompression, and never by its name. The first line that fits
//! counts. One that cannot be read is in the table all the same, so that a file of it is called by its name and the way out
//! is said.

use std::path::Path;

use gpuscope_trace::{Holds, Trace};

use crate::sqlite::{self, Database};
use crate::stream::{Poured, Stream};
use crate::{ReadError, chrome, memory_timeline, ncu, nsys, torch_trace};

/// One format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// As `inputs[].format` has it.
    pub name: &'static str,
    /// As people call a file of it.
    pub title: &'static str,
    pub holds: Holds,
    pub recognise: fn(&[u8]) -> bool,
    /// Whether a folder that holds files of these names is one input of this format.
    pub is_folder: fn(&[&str]) -> bool,
    /// The rank that the beginning of a file tells.
    pub rank: fn(&[u8]) -> Option<u32>,
    /// A moment of the recording that its beginning tells, in nanoseconds since 1970: what orders recordings of one job.
    pub moment: fn(&[u8]) -> Option<i64>,
    pub read: Read,
    /// Bytes of memory for each byte of text, at about.
    pub memory_factor: f64,
    /// Its text can be copied with changes on the way.
    pub is_rewritable: bool,
    /// Ends of names that promise such a file, so that failing to read it is worth a word.
    pub endings: &'static [&'static str],
    /// The ending of what is exported of it: a file of that name beside it holds the same.
    pub exported_as: Option<&'static str>,
    /// Whether a beginning is of this format beyond doubt, or may be anything that looks alike.
    pub is_certain: fn(&[u8]) -> bool,
}

/// How a format is read.
#[derive(Clone, Copy)]
pub enum Read {
    /// Text is taken in as it comes.
    Stream(fn() -> Box<dyn Stream>),
    /// It has to be a file, or a folder: what comes compressed or from a pipe is kept in a file for as long.
    File(fn(&Path, &Reading<'_>) -> Result<Parsed, ReadError>),
    /// Not at all; what to do instead.
    Not(&'static str),
}

impl std::fmt::Debug for Read {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Read::Stream(_) => "Stream",
            Read::File(_) => "File",
            Read::Not(_) => "Not",
        })
    }
}

/// What a reader of files may ask while it reads.
pub struct Reading<'w> {
    /// Whether somebody still wants what is read.
    pub goes_on: &'w dyn Fn() -> bool,
    /// Bytes of memory that what is read may take.
    pub memory: u64,
}

impl std::fmt::Debug for Reading<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reading").field("memory", &self.memory).finish_non_exhaustive()
    }
}

/// What a file turned out to hold.
#[derive(Debug)]
pub struct Parsed {
    /// One for each rank, or process, in it.
    pub traces: Vec<Trace>,
    pub format: &'static str,
}

impl Format {
    /// What most formats have in common.
    pub const USUAL: Format = Format {
        name: "",
        title: "",
        holds: Holds::Events,
        recognise: |_| false,
        is_folder: |_| false,
        rank: |_| None,
        moment: |_| None,
        read: Read::Not(""),
        memory_factor: 0.5,
        is_rewritable: false,
        endings: &[],
        exported_as: None,
        is_certain: |_| true,
    };
}

pub const FORMATS: &[Format] = &[
    Format {
        name: torch_trace::FORMAT,
        title: "a log of torch.compile (TORCH_TRACE)",
        holds: Holds::CompileLog,
        recognise: torch_trace::is_one,
        read: Read::Stream(|| Box::<torch_trace::Lines>::default()),
        ..Format::USUAL
    },
    Format {
        name: memory_timeline::FORMAT,
        title: "a memory timeline of torch (export_memory_timeline)",
        holds: Holds::MemoryTimeline,
        recognise: memory_timeline::is_one,
        read: Read::Stream(|| Box::<memory_timeline::Reader>::default()),
        ..Format::USUAL
    },
    Format {
        name: ncu::NAME,
        title: "a page of Nsight Compute as CSV",
        holds: Holds::Metrics,
        recognise: ncu::is_page,
        read: Read::Stream(|| Box::new(Whole::of(ncu::page))),
        memory_factor: 4.0,
        ..Format::USUAL
    },
    Format {
        name: "nsys_stats",
        title: "statistics of Nsight Systems as CSV (nsys stats)",
        holds: Holds::KernelSums,
        recognise: nsys::stats::is_one,
        read: Read::Stream(|| Box::new(Whole::of(nsys::stats::read))),
        memory_factor: 4.0,
        ..Format::USUAL
    },
    Format {
        name: nsys::NAME,
        title: "an export of Nsight Systems (SQLite)",
        recognise: sqlite::is_one,
        read: Read::File(database),
        memory_factor: 1.0,
        endings: &[".sqlite"],
        is_certain: |head| {
            memchr::memmem::find(head, b"CUPTI_ACTIVITY_KIND").is_some() || has_nsys_tables(head)
        },
        ..Format::USUAL
    },
    Format {
        name: nsys::NAME,
        title: "an export of Nsight Systems (a folder of Parquet files)",
        is_folder: nsys::is_folder,
        read: Read::File(|path, reading| nsys::read(Database::open_folder(path, reading.goes_on)?)),
        memory_factor: 8.0,
        ..Format::USUAL
    },
    Format {
        name: nsys::NAME,
        title: "a report of Nsight Systems",
        recognise: nsys::report::is_one,
        read: Read::File(nsys::report::read),
        memory_factor: 8.0,
        endings: &[".nsys-rep", ".qdrep"],
        exported_as: Some("sqlite"),
        ..Format::USUAL
    },
    Format {
        name: ncu::NAME,
        title: "a report of Nsight Compute",
        holds: Holds::Metrics,
        recognise: ncu::is_report,
        read: Read::File(ncu::report),
        memory_factor: 8.0,
        endings: &[".ncu-rep"],
        exported_as: Some("csv"),
        ..Format::USUAL
    },
    Format {
        title: "an export or statistics of Nsight Systems in a form that is not read",
        recognise: nsys::is_other_export,
        endings: &[".qdstrm"],
        read: Read::Not(
            "export the report itself: nsys export --type sqlite --include-blobs=true report.nsys-rep; of `nsys stats`, \
             cuda_gpu_kern_sum is read",
        ),
        ..Format::USUAL
    },
    Format {
        title: "an HDF5 file",
        recognise: |head| head.starts_with(b"\x89HDF\r\n"),
        read: Read::Not(
            "if it is an export of Nsight Systems, export it anew: nsys export --type sqlite --include-blobs=true",
        ),
        ..Format::USUAL
    },
    Format {
        title: "an Arrow file",
        recognise: |head| head.starts_with(b"ARROW1"),
        read: Read::Not(
            "if it is an export of Nsight Systems, export it anew: nsys export --type sqlite --include-blobs=true",
        ),
        ..Format::USUAL
    },
    Format {
        title: "a Parquet file",
        recognise: |head| head.starts_with(b"PAR1"),
        read: Read::Not(
            "if it is part of an export of Nsight Systems (--type parquetdir), give the whole folder",
        ),
        ..Format::USUAL
    },
    Format {
        title: "a legacy pprof profile",
        recognise: is_legacy_pprof,
        read: Read::Not(
            "`pprof -proto FILE` turns it into one that other tools read; gpuscope reads traces of GPUs",
        ),
        ..Format::USUAL
    },
    Format {
        title: "a Python pickle, perhaps a snapshot of torch's memory",
        recognise: |head| matches!(head, [0x80, 2..=5, ..]),
        read: Read::Not(
            "snapshots are not read yet; `gpuscope memory` reads what export_memory_timeline writes, and traces recorded \
             with profile_memory=True",
        ),
        ..Format::USUAL
    },
    Format {
        title: "a protocol buffer, perhaps an XPlane (JAX, XProf) or a Perfetto trace",
        recognise: is_protobuf,
        endings: &[".xplane.pb", ".pftrace"],
        read: Read::Not(
            "it is not read yet; JAX writes a trace.json.gz beside the XPlane if create_perfetto_trace=True, and \
             torch.profiler's export_chrome_trace writes JSON to any name that ends in .json",
        ),
        ..Format::USUAL
    },
    Format {
        name: chrome::NAME,
        title: "a trace of the PyTorch profiler or JAX (Chrome JSON)",
        recognise: chrome::is_one,
        rank: chrome::rank,
        moment: chrome::moment,
        read: Read::Stream(|| Box::<chrome::Document>::default()),
        is_rewritable: true,
        endings: &[".json", ".pt.trace", ".trace"],
        is_certain: chrome::is_certain,
        ..Format::USUAL
    },
];

/// The format of a file that begins so.
pub fn recognise(formats: &'static [Format], head: &[u8]) -> Option<&'static Format> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    formats.iter().find(|format| (format.recognise)(head))
}

/// The format of a folder that is one input, such as one file for each table; None for a folder of files that are inputs
/// themselves.
pub fn of_folder(names: &[&str]) -> Option<&'static Format> {
    FORMATS.iter().find(|format| (format.is_folder)(names))
}

/// The names of tables stand at the beginning of a database, if it has few.
fn has_nsys_tables(head: &[u8]) -> bool {
    let has = |name: &[u8]| memchr::memmem::find(head, name).is_some();
    has(b"StringIds") && has(b"TARGET_INFO_")
}

/// Databases are told apart by their tables.
fn database(path: &Path, reading: &Reading<'_>) -> Result<Parsed, ReadError> {
    let database = Database::open(path, reading.goes_on)?;
    let has = |name: &str| database.tables().any(|table| table.starts_with(name));
    let is_nvprof = has("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") || database.has("StringTable");
    if nsys::is_one(&database) && !is_nvprof {
        return nsys::read(database);
    }
    let (title, instead) = match () {
        () if is_nvprof => (
            "a database of nvprof, the predecessor of Nsight Systems",
            "record anew: nsys profile -t cuda,nvtx, then nsys export --type sqlite",
        ),
        () if has("rocpd_op") => (
            "an RPD database (rocmProfileData)",
            "it is not read yet; the PyTorch profiler records the same GPU work as Chrome JSON",
        ),
        () if has("rocpd_") => (
            "a rocpd database of rocprofv3",
            "it is not read yet; the PyTorch profiler records the same GPU work as Chrome JSON",
        ),
        () if has("compute_") => (
            "a database of rocprof-compute, which holds no timeline",
            "record a trace: rocprofv3 --runtime-trace, or the PyTorch profiler",
        ),
        () => (
            "a database of another program",
            "`nsys export --type sqlite --include-blobs=true report.nsys-rep` writes one that is read",
        ),
    };
    Err(ReadError::NotRead { title, instead })
}

/// Old CPU profiles are binary words: 0, 3, 0 or 1, and the period.
fn is_legacy_pprof(head: &[u8]) -> bool {
    let words = |size: usize| -> Vec<u64> {
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        head.chunks_exact(size).take(3).map(word).collect()
    };
    let is_binary = |size| matches!(words(size)[..], [0, 3, 0 | 1]);
    head.starts_with(b"heap profile:") || head.starts_with(b"--- contention") || is_binary(8) || is_binary(4)
}

/// Protocol buffers have no signature; both those of JAX and Perfetto traces begin with a length-delimited field 1.
fn is_protobuf(head: &[u8]) -> bool {
    head.first() == Some(&0x0a) && head.iter().take(64).any(|byte| *byte < 9)
}

/// Small texts are read when they are whole.
pub(crate) struct Whole {
    text: Vec<u8>,
    read: fn(&[u8]) -> Result<Parsed, ReadError>,
}

impl Whole {
    pub(crate) fn of(read: fn(&[u8]) -> Result<Parsed, ReadError>) -> Whole {
        Whole { text: Vec::new(), read }
    }
}

impl Stream for Whole {
    fn feed(&mut self, buffer: &[u8], from: usize, to: usize, _last: bool) -> Result<usize, ReadError> {
        self.text.extend_from_slice(&buffer[from..to]);
        Ok(to)
    }

    fn taken(&self) -> (u64, u64) {
        (self.text.capacity() as u64, 0)
    }

    fn finish(self: Box<Self>, poured: &Poured) -> Result<Parsed, ReadError> {
        let mut parsed = (self.read)(&self.text)?;
        if let (Some(first), Some(remark)) = (parsed.traces.first_mut(), poured.remark()) {
            first.quality.push(remark);
        }
        Ok(parsed)
    }
}
