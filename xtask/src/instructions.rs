//! `cargo xtask instructions`: how many instructions an answer takes, counted by callgrind.
//!
//! Seconds on a shared machine move by a third from run to run; instruction counts repeat, so they can fail a
//! build. Two things are held, for a whole command and for every question by itself: the count on one trace against
//! a recorded baseline, and that work grows in step with the number of events.

mod questions;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::steps::{self, Outcome};
use crate::workspace::Workspace;

const BASELINE_FILE: &str = "bench/instructions.json";
const CASE: &str = "breakdown of a 20 MB trace";
const SIZE: &str = "20MB";
/// Small and large trace of the growth check; the large one has 16 times the events.
const GROWTH_SIZES: [&str; 2] = ["1.5MB", "24MB"];
/// At most this many times the instructions for 16 times the events: room for sorting, none for a square.
const GROWTH_LIMIT: f64 = 18.5;
/// A question does little but sort, whose logarithm makes it 21 times.
const QUESTION_GROWTH_LIMIT: f64 = 21.0;
/// Counts so small are no measure of growth.
const TOO_FEW: u64 = 100_000;

/// Counts by toolchain, then by case. Another compiler gives other code, so each has its own baseline.
type Baselines = BTreeMap<String, BTreeMap<String, u64>>;

pub(crate) fn run(workspace: &Workspace, bless: bool) -> Result<Outcome> {
    if let Err(reason) = valgrind() {
        return Ok(Outcome::Skipped(format!("{reason:#}")));
    }
    let (binary, program) = (workspace.release_binary()?, workspace.cost_example()?);
    let folder = tempfile::tempdir()?;
    let [small, large] = GROWTH_SIZES.map(|size| demo(&binary, folder.path(), size));
    let (small, large) = (small?, large?);
    let (of_small, of_large) = (count(&binary, &small)?, count(&binary, &large)?);
    hold_growth("breakdown", of_small, of_large, GROWTH_LIMIT)?;

    let mut counts = BTreeMap::new();
    let now = count(&binary, &demo(&binary, folder.path(), SIZE)?)?;
    counts.insert(CASE.to_owned(), now.instructions);
    let (few, many) = (questions::count(&program, &small)?, questions::count(&program, &large)?);
    for ((name, few), (_, many)) in few.into_iter().zip(many) {
        let of = |instructions, count: Count| Count { instructions, ..count };
        if few > TOO_FEW {
            hold_growth(&name, of(few, of_small), of(many, of_large), QUESTION_GROWTH_LIMIT)?;
        }
        counts.insert(format!("{name}, asked of a 24 MB trace"), many);
    }

    let file = workspace.root.join(BASELINE_FILE);
    let mut baselines = load(&file)?;
    let toolchain = toolchain()?;
    if bless {
        println!("    {} counts written to {BASELINE_FILE} for {toolchain}", counts.len());
        baselines.insert(toolchain, counts);
        std::fs::create_dir_all(file.parent().context("no folder")?)?;
        std::fs::write(&file, serde_json::to_string_pretty(&baselines)? + "\n")?;
        return Ok(Outcome::Done);
    }
    let known = baselines.get(&toolchain);
    let judge = |(case, now): (&String, &u64)| {
        let known = known.and_then(|cases| cases.get(case)).copied();
        verdict(case, *now, known, &toolchain).map(|line| println!("    {line}"))
    };
    // All of them, so that one run tells everything that became slower.
    let worse: Vec<String> = counts.iter().filter_map(|case| Some(judge(case).err()?.to_string())).collect();
    ensure!(worse.is_empty(), "{}", worse.join("\n"));
    Ok(Outcome::Done)
}

fn hold_growth(what: &str, small: Count, large: Count, limit: f64) -> Result<()> {
    let growth = growth(small, large)?;
    println!("    {what}: 16 times the events take {growth:.2} times the instructions (at most {limit})");
    ensure!(
        growth <= limit,
        "instructions of {what} grow faster than the trace: {growth:.2} times for 16 times the events, at most \
         {limit} ({} for {} events, {} for {})",
        small.instructions,
        small.events,
        large.instructions,
        large.events
    );
    Ok(())
}

/// What a count means beside its baseline; an error if it is a regression.
fn verdict(case: &str, now: u64, known: Option<u64>, toolchain: &str) -> Result<String> {
    let Some(known) = known else {
        return Ok(format!(
            "{case}: {now} instructions. NO BASELINE for {toolchain}: `cargo xtask instructions --bless` records one"
        ));
    };
    let percent = (now as f64 / known as f64 - 1.0) * 100.0;
    let line = format!("{case}: {now} instructions, {percent:+.1} % of the baseline {known}");
    // In integers, so that exactly 10 % is on the good side.
    if now * 10 > known * 11 {
        bail!(
            "{line}; more than +10 % is a regression. If it is wanted: `cargo xtask instructions --bless`, and say why in the commit"
        )
    }
    if now * 20 < known * 19 {
        return Ok(format!("{line}; it can be lowered with `cargo xtask instructions --bless`"));
    }
    Ok(line)
}

#[derive(Debug, Clone, Copy)]
struct Count {
    instructions: u64,
    events: u64,
}

/// Growth in instructions, scaled to exactly 16 times the events.
fn growth(small: Count, large: Count) -> Result<f64> {
    ensure!(small.events > 0 && small.instructions > 0, "the small trace has no events");
    let events = large.events as f64 / small.events as f64;
    ensure!(
        (12.0..20.0).contains(&events),
        "the large trace has {events:.1} times the events of the small one, not 16"
    );
    Ok(large.instructions as f64 / small.instructions as f64 / events * 16.0)
}

/// Writes a made-up trace of one rank; the same size gives the same bytes.
fn demo(binary: &Path, folder: &Path, size: &str) -> Result<PathBuf> {
    let folder = folder.join(size);
    steps::capture(
        Command::new(binary)
            .args(["demo", "--only-write", "--ranks", "1", "--bytes", size, "-o"])
            .arg(&folder),
    )?;
    Ok(folder.join("rank-0.json"))
}

fn count(binary: &Path, trace: &Path) -> Result<Count> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(binary)
        .arg("breakdown")
        .arg(trace)
        .arg("--json")
        .env("GPUSCOPE_THREADS", "1")
        .output()
        .context("cannot run valgrind")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "gpuscope breakdown under valgrind ended with {}: {}",
        output.status,
        errors.trim()
    );
    let instructions =
        collected(&errors).with_context(|| format!("no `Collected` line from callgrind: {errors}"))?;
    let answer: Value = serde_json::from_slice(&output.stdout).context("the answer is not JSON")?;
    let events = answer["inputs"][0]["events"].as_u64().context("the answer has no inputs[0].events")?;
    Ok(Count { instructions, events })
}

/// The total in callgrind's `==123== Collected : 126649`.
fn collected(text: &str) -> Option<u64> {
    let line = text.lines().find(|l| l.starts_with("==") && l.contains(" Collected "))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

/// `1.95.0 x86_64-unknown-linux-gnu`.
fn toolchain() -> Result<String> {
    let text = steps::capture(Command::new("rustc").arg("-vV"))?;
    let field = |name: &str| text.lines().find_map(|l| l.strip_prefix(name)).map(str::trim);
    let (Some(release), Some(host)) = (field("release:"), field("host:")) else {
        bail!("cannot read `rustc -vV`: {text}")
    };
    Ok(format!("{release} {host}"))
}

fn load(file: &Path) -> Result<Baselines> {
    match std::fs::read(file) {
        Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| format!("reading {}", file.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Baselines::new()),
        Err(error) => Err(error).with_context(|| format!("reading {}", file.display())),
    }
}

/// Makes sure that valgrind is there, installing it where that is possible.
fn valgrind() -> Result<()> {
    let there = || steps::works(Command::new("valgrind").arg("--version"));
    if there() {
        return Ok(());
    }
    ensure!(
        nix::unistd::Uid::effective().is_root(),
        "valgrind is not installed (`apt-get install valgrind`)"
    );
    println!("    valgrind is not installed: trying apt-get");
    let apt = |words: &[&str]| {
        steps::works(Command::new("apt-get").args(words).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    if !apt(&["install", "-y", "valgrind"]) {
        apt(&["update"]);
        apt(&["install", "-y", "valgrind"]);
    }
    ensure!(there(), "valgrind is not installed, and apt-get could not install it");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Count, collected, growth, verdict};

    #[test]
    fn the_total_is_read_from_callgrinds_output() {
        let text = "==7== Callgrind\n==7== Events    : Ir\n==7== Collected : 126649\n==7== \n";
        assert_eq!(collected(text), Some(126_649));
        assert_eq!(collected("Collected : 5\n"), None);
        assert_eq!(collected("==7== Collected : x"), None);
    }

    #[test]
    fn only_a_rise_past_ten_percent_fails() {
        assert!(verdict("c", 1_101, Some(1_000), "t").is_err());
        assert_eq!(verdict("c", 1_100, Some(1_000), "t").unwrap().matches("lowered").count(), 0);
        assert!(verdict("c", 940, Some(1_000), "t").unwrap().contains("lowered"));
        assert!(!verdict("c", 960, Some(1_000), "t").unwrap().contains("lowered"));
        assert!(verdict("c", 5, None, "1.95.0 x").unwrap().contains("NO BASELINE for 1.95.0 x"));
    }

    #[test]
    fn growth_is_scaled_to_sixteen_times_the_events() {
        let count = |instructions, events| Count { instructions, events };
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(growth(count(100, 10), count(1_600, 160)).unwrap(), 16.0));
        assert!(close(growth(count(100, 10), count(1_500, 150)).unwrap(), 16.0));
        assert!(growth(count(100, 10), count(25_600, 160)).unwrap() > 18.5);
        assert!(growth(count(100, 10), count(100, 10)).is_err());
        assert!(growth(count(0, 0), count(1, 1)).is_err());
    }
}
