//! `cargo xtask pages-bench`: what a page of a million events, and a served one of ten million, costs the browser, beside
//! what was promised.
//!
//! `web/tests/bench.mjs` measures; nothing here fails on time: it prints `met` or `NOT MET`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::bench::{document, inputs};
use crate::browser::{Browser, Found};
use crate::steps::{self, Outcome};
use crate::workspace::{self, Workspace};

/// A made-up trace with a little more than a million events to draw.
const SIZE: &str = "520MB";
/// And one with more than ten million, for `view`.
const LARGE: &str = "5GB";

const MEDIAN_MS: f64 = 8.0;
const P99_MS: f64 = 25.0;
const READABLE_MS: f64 = 1000.0;
const INTERACTIVE_MS: f64 = 2000.0;
const PAGE_MB: f64 = 15.0;

/// What the script prints.
#[derive(Debug, Deserialize)]
struct Costs {
    slices: u64,
    bytes: u64,
    readable_ms: f64,
    interactive_ms: f64,
    frames: u64,
    cpu_ms: Spread,
    wall_ms: Spread,
}

#[derive(Debug, Deserialize)]
struct Spread {
    median: f64,
    p99: f64,
}

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let web = workspace.root.join("web");
    let browser = match Browser::find(&web)? {
        Found::Ready(browser) => browser,
        Found::Missing(reason) => return Ok(Outcome::Skipped(reason)),
    };
    let binary = workspace.release_binary()?;
    let cache = workspace::cache()?.join("bench");
    let trace = inputs::made_up(&binary, &cache, SIZE)?;
    let mut costs = Vec::new();
    for (page, command) in [("timeline", "timeline"), ("report", "analyze")] {
        let file = cache.join(format!("{page}.html"));
        println!("drawing {} as {page}", trace.display());
        steps::capture(Command::new(&binary).arg(command).arg(&trace).arg("-o").arg(&file))?;
        costs.push((page, measure(&browser, &binary, &web, page, &file)?));
    }
    let large = inputs::made_up(&binary, &cache, LARGE)?;
    println!("serving {}", large.display());
    costs.push(("view", measure(&browser, &binary, &web, "view", &large)?));
    let checks: String = costs.iter().map(|(page, costs)| checks(page, costs)).collect();
    let table = table(&costs);
    println!("\n{table}\n{checks}");
    document::update(&workspace.root.join("BENCHMARKS.md"), document::PAGES, &table, &checks)?;
    println!("BENCHMARKS.md is up to date");
    Ok(Outcome::Done)
}

fn measure(browser: &Browser, binary: &Path, web: &Path, page: &str, file: &Path) -> Result<Costs> {
    let text = steps::capture(browser.script(binary).arg(web.join("tests/bench.mjs")).arg(page).arg(file))?;
    serde_json::from_str(&text).with_context(|| format!("not what bench.mjs prints: {text}"))
}

fn table(pages: &[(&str, Costs)]) -> String {
    let head = "| page | slices | MB | readable ms | interactive ms | frames | CPU ms per frame, median | p99 | wall \
                ms per frame, median | p99 |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
    let row = |(page, costs): &(&str, Costs)| {
        let Costs { slices, bytes, readable_ms, interactive_ms, frames, cpu_ms, wall_ms } = costs;
        let megabytes = *bytes as f64 / 1e6;
        format!(
            "| {page} | {slices} | {megabytes:.1} | {readable_ms:.0} | {interactive_ms:.0} | {frames} | {:.1} | {:.1} \
             | {:.1} | {:.1} |\n",
            cpu_ms.median, cpu_ms.p99, wall_ms.median, wall_ms.p99
        )
    };
    pages.iter().map(row).fold(head.to_owned(), |text, row| text + &row)
}

fn checks(page: &str, costs: &Costs) -> String {
    let megabytes = costs.bytes as f64 / 1e6;
    // Nothing was promised of how long a frame takes while tiles of ten million events come in: the table says it.
    let median = if page == "view" { f64::INFINITY } else { MEDIAN_MS };
    let checks = [
        ("main thread per frame, CPU, median", costs.cpu_ms.median, median, "ms"),
        ("main thread per frame, CPU, 99th percentile", costs.cpu_ms.p99, P99_MS, "ms"),
        ("first screen readable", costs.readable_ms, READABLE_MS, "ms"),
        ("interactive", costs.interactive_ms, INTERACTIVE_MS, "ms"),
        ("page", megabytes, PAGE_MB, "MB"),
    ];
    let line = |(what, found, most, unit): (&str, f64, f64, &str)| {
        let verdict = if found <= most { "met" } else { "NOT MET" };
        format!("- {verdict}: {page}: {what}: {found:.1} {unit}, at most {most} {unit}\n")
    };
    checks.into_iter().filter(|(_, _, most, _)| most.is_finite()).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::{Costs, checks, table};

    #[test]
    fn each_promise_is_judged_on_its_limit() {
        let text = r#"{"slices": 1100000, "bytes": 15000001, "readable_ms": 99.6, "interactive_ms": 2000.0,
            "frames": 460, "cpu_ms": {"median": 8.0, "p99": 25.1}, "wall_ms": {"median": 9.5, "p99": 40.0}}"#;
        let costs: Costs = serde_json::from_str(text).unwrap();
        let judged: Vec<bool> =
            checks("timeline", &costs).lines().map(|line| line.starts_with("- met")).collect();
        assert_eq!(judged, [true, false, true, true, false]);
        let row = "| timeline | 1100000 | 15.0 | 100 | 2000 | 460 | 8.0 | 25.1 | 9.5 | 40.0 |\n";
        let table = table(&[("timeline", costs)]);
        assert!(table.ends_with(row), "{table}");
    }
}
