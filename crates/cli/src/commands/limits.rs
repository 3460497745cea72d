//! `gpuscope limits`: what this machine cannot beat, measured in this process so that start-up does not count.

use std::path::Path;
use std::time::{Duration, Instant};

use gpuscope_formats::{Head, ReadOptions, limits, read, read_file};
use serde::Serialize;

use crate::Console;
use crate::args::Limit;
use crate::exit::{Exit, Failure};

/// The best of so many runs: noise only ever adds time.
const RUNS: u32 = 5;

#[derive(Debug, Serialize)]
struct Measured {
    what: &'static str,
    bytes: u64,
    cpu_s: f64,
    wall_s: f64,
    events: u64,
}

pub(crate) fn run(file: &Path, what: Limit, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let path = file.display().to_string();
    let unreadable =
        |error: &dyn ToString| Failure::Unreadable { path: path.clone(), message: error.to_string() };
    let bytes = std::fs::read(file).map_err(|error| unreadable(&error))?;
    let length = bytes.len() as u64;
    let measured = match what {
        Limit::Scan => {
            let padded = limits::padded(&bytes);
            best("scan", length, || {
                std::hint::black_box(limits::scan(&padded));
                Ok(0)
            })
        }
        Limit::Inflate => {
            let length = limits::inflate(&bytes).map_err(|error| unreadable(&error))?;
            best("inflate", length, || limits::inflate(&bytes).map(|_| 0).map_err(|error| unreadable(&error)))
        }
        Limit::Read => {
            let options = ReadOptions { pipelined: true, ..ReadOptions::default() };
            let format = Head::of(&*bytes)?.format();
            let read = || {
                let by_place = format.and_then(|format| read_file(file, format, &|| true, options));
                let loaded = by_place.unwrap_or_else(|| {
                    std::fs::File::open(file).map_err(Into::into).and_then(|file| read(file, options))
                });
                loaded.map_err(|error| unreadable(&error))
            };
            let length = read()?.text_bytes;
            // Two cores that are both free at once are rarer than one: more tries find them.
            best_of(3 * RUNS, "read", length, || {
                read().map(|loaded| loaded.traces.iter().map(|trace| trace.elements).sum())
            })
        }
        Limit::Rows => best("rows", length, || limits::rows(file).map_err(|error| unreadable(&error))),
        Limit::Parse => {
            let padded = limits::padded(&bytes);
            best("parse", length, || {
                limits::parse(&padded).map(|trace| trace.elements).map_err(|error| unreadable(&error))
            })
        }
    }?;
    let text = serde_json::to_string(&measured).map_err(std::io::Error::from)?;
    writeln!(console.out, "{text}")?;
    Ok(Exit::DONE)
}

fn best(
    what: &'static str,
    bytes: u64,
    work: impl FnMut() -> Result<u64, Failure>,
) -> Result<Measured, Failure> {
    best_of(RUNS, what, bytes, work)
}

fn best_of(
    runs: u32,
    what: &'static str,
    bytes: u64,
    mut work: impl FnMut() -> Result<u64, Failure>,
) -> Result<Measured, Failure> {
    let mut measured = Measured { what, bytes, cpu_s: f64::MAX, wall_s: f64::MAX, events: 0 };
    for _ in 0..runs {
        let (wall, cpu) = (Instant::now(), cpu_time());
        measured.events = work()?;
        measured.cpu_s = measured.cpu_s.min(cpu_time().saturating_sub(cpu).as_secs_f64());
        measured.wall_s = measured.wall_s.min(wall.elapsed().as_secs_f64());
    }
    Ok(measured)
}

/// Time on all cores together.
#[cfg(unix)]
fn cpu_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Where the system does not tell, a script sees zero.
#[cfg(not(unix))]
fn cpu_time() -> Duration {
    Duration::ZERO
}
