//! Reading databases: an export of Nsight Systems beside a bare pass of the same library over the same rows and columns.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::acceptance::{self, Check};
use super::document;
use crate::measure;
use crate::steps;
use crate::workspace::{self, Workspace};

const KERNELS: u64 = 1_000_000;
/// A kernel and its call for each.
const EVENTS: u64 = 2 * KERNELS;

/// For the database that Python has: kernels and calls with the columns that an export of 2026 has.
const MAKE: &str = r#"
import sqlite3, sys
path, kernels = sys.argv[1], int(sys.argv[2])
database = sqlite3.connect(path)
database.executescript(f"""
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
    INSERT INTO StringIds SELECT i, 'void gemm_' || i || '<float>(float*)' FROM n;
INSERT INTO StringIds VALUES (900, 'cudaLaunchKernel_v7000');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
    greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,
    shortName INTEGER, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER,
    gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,
    staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER, localMemoryTotal INTEGER,
    gridId INTEGER, sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {kernels})
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 1000000 + i * 9000, 1000000 + i * 9000 + 4000 + i % 977, 0, 1, NULL, 7, i,
    281476654280704, 1 + i % 200, 1 + i % 200, NULL, 1, 0, 64, 1 + i % 1024, 1, 1, 256, 1, 1, 0, 49152, 0, 0, i, 65536, NULL,
    NULL FROM n;
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT start - 6000, start - 2000, 0, globalPid + 7, correlationId, 900, 0, NULL
    FROM CUPTI_ACTIVITY_KIND_KERNEL;
""")
database.commit()
"#;

/// `cargo xtask bench` does this last; alone it is `cargo xtask exports-bench`.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let binary = workspace.release_binary()?;
    let export = made(&workspace::cache()?.join("bench"))?;
    let path = export.to_string_lossy();
    let [rows, read] = ["rows", "read"].map(|what| limit(&binary, &path, what));
    let (rows, read) = (rows?, read?);
    let words = [&binary.to_string_lossy(), "breakdown", path.as_ref(), "--json"].map(str::to_owned);
    let (whole, _) = measure::run(&words)?;
    let rate = |seconds: f64| KERNELS as f64 / seconds / 1e6;
    let table = format!(
        "| export of Nsight Systems, 1 M kernels and their calls | CPU s | × bare pass | M kernels/s |\n|---|---:|---:|---:|\n\
         | bare pass of SQLite over the same rows and columns | {rows:.3} | 1.00 | {:.2} |\n\
         | gpuscope, reading alone | {read:.3} | {:.2} | {:.2} |\n\
         | gpuscope breakdown | {:.3} | {:.2} | {:.2} |\n",
        rate(rows),
        read / rows,
        rate(read),
        whole.cpu_s,
        whole.cpu_s / rows,
        rate(whole.cpu_s),
    );
    let checks = [
        Check::at_most("reading / bare pass over the same rows and columns, CPU", read / rows, 2.0),
        acceptance::memory_of("breakdown of the export", whole.rss_bytes, EVENTS),
    ];
    let checks = acceptance::text(&checks);
    println!("\n{table}\n{checks}");
    document::update(&workspace.root.join("BENCHMARKS.md"), document::EXPORTS, &table, &checks)
}

/// Made once.
fn made(folder: &Path) -> Result<PathBuf> {
    let path = folder.join(format!("export-{KERNELS}-v1.sqlite"));
    if !path.exists() {
        println!("making an export of {KERNELS} kernels");
        std::fs::create_dir_all(folder)?;
        let part = path.with_extension("part");
        let _ = std::fs::remove_file(&part);
        steps::capture(Command::new("python3").args(["-c", MAKE]).arg(&part).arg(KERNELS.to_string()))?;
        std::fs::rename(&part, &path)?;
    }
    Ok(path)
}

/// CPU seconds of the best of some runs, measured inside the process.
fn limit(binary: &Path, path: &str, what: &str) -> Result<f64> {
    let words = [&binary.to_string_lossy(), "limits", path, "--what", what].map(str::to_owned);
    let (_, output) = measure::run(&words)?;
    let answer: Value = serde_json::from_str(output.trim()).context("its output is not JSON")?;
    answer["cpu_s"].as_f64().context("its output has no cpu_s")
}
