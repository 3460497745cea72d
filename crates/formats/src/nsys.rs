//! Nsight Systems, as `nsys export` writes it with `--type sqlite` or `--type parquetdir`: every schema since 2020, by the
//! tables and columns that are there and never by the version.
//!
//! A report holds processes; correlations join a call to its GPU work within one process only, so each process with GPU
//! work is a rank. Times are nanoseconds since the session began. What is read, and as what:
//!
//! | tables | become |
//! |---|---|
//! | `CUPTI_ACTIVITY_KIND_KERNEL`, `_MEMCPY`, `_MEMSET` | GPU events |
//! | `CUPTI_ACTIVITY_KIND_GRAPH_TRACE` | replays of CUDA graphs, where their kernels were not recorded |
//! | `CUPTI_ACTIVITY_KIND_RUNTIME` | runtime and driver calls |
//! | `CUPTI_ACTIVITY_KIND_SYNCHRONIZATION`, `_CUDA_EVENT` | synchronisation, and what was waited for |
//! | `NVTX_EVENTS` | annotations and marks; operators of `PyTorch` (`emit_nvtx`); NCCL's calls with what they send |
//! | `OSRT_API` | calls of the operating system, on rows of their own |
//! | `CUDA_GPU_MEMORY_USAGE_EVENTS` | memory that was allocated and freed |
//! | `GPU_METRICS`, `NET_NIC_METRIC` | counters |
//! | `TARGET_INFO_GPU`, `ThreadNames`, `DIAGNOSTIC_EVENT` | devices, names of threads, remarks on quality |
//!
//! The environment, command lines and output of the profiled programs, which an export holds, too, are not looked at.

mod about;
mod gpu;
mod host;
mod nccl;
mod operator;
mod process;
pub(crate) mod report;
mod samples;
pub(crate) mod stats;

use gpuscope_trace::Trace;

use crate::parquet_folder;
use crate::sqlite::Database;
use crate::{Parsed, ReadError};

/// What such files are called as inputs.
pub(crate) const NAME: &str = "nsys";

/// Whether a database has the tables of an export.
pub(crate) fn is_one(database: &Database<'_>) -> bool {
    let has_device_table = || database.tables().any(|table| table.starts_with("TARGET_INFO_"));
    database.tables().any(is_activity) || (database.has("StringIds") && has_device_table())
}

/// Whether a folder has a Parquet file for each table of an export.
pub(crate) fn is_folder(names: &[&str]) -> bool {
    let mut tables = names.iter().filter_map(|name| parquet_folder::table_of(name));
    tables.any(|table| is_activity(table) || table == "META_DATA_EXPORT")
}

/// What `nsys` alone writes and gpuscope does not read: JSON lines, recordings that were not processed, and reports of
/// `nsys stats` about other things than kernels.
pub(crate) fn is_other_export(head: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 6] = [
        b"QDSTRM",
        // JSON lines.
        b"{\"Type\":",
        b"Time (%),Total Time",
        b"Time(%),Total Time",
        b"Start (ns),Duration (ns)",
        b"Total (MB),Count",
    ];
    BEGINNINGS.iter().any(|beginning| head.starts_with(beginning)) && !stats::is_one(head)
}

fn is_activity(table: &str) -> bool {
    table.starts_with("CUPTI_ACTIVITY_KIND_")
}

pub(crate) fn read(mut database: Database<'_>) -> Result<Parsed, ReadError> {
    let processes = tables(&mut database)?;
    let mut traces: Vec<Trace> = processes.finish();
    if let (Some(damage), Some(first)) = (database.damage(), traces.first_mut()) {
        first.quality.push(damage);
    }
    Ok(Parsed { traces, format: NAME })
}

fn tables(database: &mut Database<'_>) -> Result<process::Processes, ReadError> {
    let mut processes = process::Processes::new(database)?;
    gpu::read(database, &mut processes)?;
    processes.all_are_known();
    host::read(database, &mut processes)?;
    samples::read(database, &mut processes)?;
    about::read(database, &mut processes)?;
    Ok(processes)
}

/// Passes over the same rows and columns and does nothing with them; answers how many rows there are. For benchmarks.
pub(crate) fn pass_over(database: Database<'_>) -> Result<u64, ReadError> {
    let mut database = database.bare();
    tables(&mut database)?;
    Ok(database.rows())
}
