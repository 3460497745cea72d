//! The traces that are measured, plain and gzipped, kept in the cache because making them takes longer than reading.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::repeat::Template;
use crate::{size, steps};

/// Real traces: with Python stacks and shapes, with collectives, and in the old layout with whole microseconds.
const REAL: [&str; 3] = ["h100_timesformer", "nccl_a100", "trace_diff_control"];

/// Part of the names of repeated traces: raise it when `repeat` writes something else.
const REPEAT_VERSION: u32 = 1;

#[derive(Debug)]
pub(super) struct Input {
    pub(super) label: String,
    pub(super) plain: PathBuf,
    pub(super) gz: PathBuf,
    /// Length of the plain text.
    pub(super) bytes: u64,
    /// Whether HTA is known to read it.
    pub(super) for_hta: bool,
}

/// A made-up trace by the binary under test, and the same compressed.
pub(super) fn demo(binary: &Path, cache: &Path, size: &str) -> Result<Input> {
    input(format!("made-up {size}"), made_up(binary, cache, size)?, false)
}

/// A made-up trace by the binary under test; made again when the binary is newer.
pub(crate) fn made_up(binary: &Path, cache: &Path, size: &str) -> Result<PathBuf> {
    let folder = cache.join(format!("demo-{size}"));
    let plain = folder.join("rank-0.json");
    if modified(&plain).is_none_or(|made| modified(binary).is_none_or(|built| built > made)) {
        println!("making a trace of {size}");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let words = ["demo", "--only-write", "--ranks", "1", "--bytes", size, "-o"];
        steps::capture(Command::new(binary).args(words).arg(&folder))?;
    }
    Ok(plain)
}

/// The real traces, each repeated up to about `size`.
pub(super) fn corpus(shared: &Path, cache: &Path, size: &str) -> Result<Vec<Input>> {
    let bytes = size::parse(size)?;
    fs::create_dir_all(cache)?;
    let mut inputs = Vec::new();
    for name in REAL {
        let source = shared.join("traces").join(format!("{name}.json.gz"));
        if !source.exists() {
            println!("{name}: SKIPPED, no {}", source.display());
            continue;
        }
        let plain = cache.join(format!("{name}-{size}-v{REPEAT_VERSION}.json"));
        if !plain.exists() {
            println!("repeating {name} up to {size}");
            let template =
                Template::new(&gunzip(&source)?).with_context(|| format!("reading {}", source.display()))?;
            write_whole(&plain, |out| template.write(template.copies_for(bytes), out))?;
        }
        inputs.push(input(format!("{name} to {size}"), plain, name == "trace_diff_control")?);
    }
    Ok(inputs)
}

fn input(label: String, plain: PathBuf, for_hta: bool) -> Result<Input> {
    let bytes = fs::metadata(&plain).with_context(|| format!("{} was not written", plain.display()))?.len();
    let gz = plain.with_extension("json.gz");
    if modified(&gz).is_none_or(|made| modified(&plain).is_none_or(|text| text > made)) {
        println!("compressing {label}");
        write_whole(&gz, |out| {
            let mut encoder = GzEncoder::new(out, Compression::new(6));
            io::copy(&mut BufReader::with_capacity(1 << 20, File::open(&plain)?), &mut encoder)?;
            encoder.finish()?.flush()
        })?;
    }
    Ok(Input { label, plain, gz, bytes, for_hta })
}

fn gunzip(path: &Path) -> Result<String> {
    let mut text = String::new();
    MultiGzDecoder::new(File::open(path)?).read_to_string(&mut text)?;
    Ok(text)
}

/// Writes beside and renames, so that an interrupted run leaves no half file in the cache.
fn write_whole(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
    let part = path.with_extension("part");
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&part)?);
    fill(&mut out).and_then(|()| out.flush()).with_context(|| format!("writing {}", part.display()))?;
    fs::rename(&part, path).with_context(|| format!("writing {}", path.display()))
}

fn modified(path: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

#[cfg(test)]
mod tests {
    use super::{gunzip, input, write_whole};
    use std::io::Write;

    #[test]
    fn an_input_is_compressed_once_and_again_when_it_changed() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("a.json");
        write_whole(&plain, |out| out.write_all(b"{\"traceEvents\": []}")).unwrap();
        let made = input("a".to_owned(), plain.clone(), false).unwrap();
        assert_eq!((made.bytes, made.gz.ends_with("a.json.gz")), (19, true));
        assert_eq!(gunzip(&made.gz).unwrap(), "{\"traceEvents\": []}");
        std::thread::sleep(std::time::Duration::from_millis(20));
        write_whole(&plain, |out| out.write_all(b"[]")).unwrap();
        assert_eq!(gunzip(&input("a".to_owned(), plain, false).unwrap().gz).unwrap(), "[]");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "no .part is left");
    }
}
