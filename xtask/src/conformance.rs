//! `cargo xtask conformance`: the release build against the expected answers in the corpus, and what it explains against
//! what must be true of any trace.
//!
//! The corpus' own script judges every case; this command decides which of its verdicts count today. It asks for
//! one analysis after the other, because commands that are not built yet would all be `missing command`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::workspace::Workspace;

/// The analyses built so far: the one place to add the next. Cases under `cli/` follow their command.
const BUILT: [&str; 16] = [
    "info",
    "breakdown",
    "temporal",
    "kernels",
    "overlap",
    "idle",
    "launches",
    "queue",
    "bandwidth",
    "annotations",
    "critical_path",
    "diff",
    "memory",
    "collectives",
    "stragglers",
    "ops",
];

/// Traces in formats that are not read yet, or not in all their versions: their cases are reported as skipped.
const LATER_TRACES: [&str; 17] = [
    "jax_conv_08",
    "rocprof_908",
    "ascend_level1",
    "compile_cache_hit_miss",
    "compile_inductor_provenance_jit_cuda_log",
    "compile_multi_rank_logs",
    "compile_simple",
    "compile_simple_corrupted_json",
    "kineto2020",
    "memory_forward_fp32",
    "memory_medium_inference",
    "memory_npu_expandable",
    "memory_whole_recording",
    "rocm_decode",
    "rocm_docs_copies",
    "rocm_docs_kernels",
    "rocm_rpd",
];
/// The same, of which some cases hold already.
const LATER_CASES: [(&str, &str); 4] =
    [("rocm_decode_fetch", "counters"), ("rocm_decode_stall", "counters"), ("tpu_v6", ""), ("", "step_idle")];

/// A corpus of other formats beside the first, all of whose cases are asked for at once.
const FORMATS: &str = "formats";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed,
    Skipped,
}

/// Verdicts by (trace, case); a case that two analyses ask for counts once.
type Verdicts = BTreeMap<(String, String), Verdict>;

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let corpus = workspace.corpus().context("no ../shared beside the repository: nothing to conform to")?;
    let binary = workspace.release_binary()?;
    let mut verdicts = Verdicts::new();
    for analysis in BUILT {
        let output = ask(&corpus, &binary, analysis)?;
        let own = read(&output).with_context(|| format!("reading conformance.py --only {analysis}"))?;
        ensure!(!own.is_empty(), "conformance.py ran no case for `{analysis}`");
        for line in output.lines().filter(|l| judge(l).is_some_and(|(_, v)| v == Verdict::Failed)) {
            println!("{line}");
        }
        verdicts.extend(own);
    }
    if corpus.join(FORMATS).is_dir() {
        let output = ask_of(&corpus, &binary, &["--corpus", &corpus.join(FORMATS).to_string_lossy()])?;
        let own = read(&output).context("reading conformance.py --corpus formats")?;
        for line in output.lines().filter(|l| judge(l).is_some_and(|(_, v)| v == Verdict::Failed)) {
            println!("{line}");
        }
        // A trace of both is a case of its own in each.
        verdicts.extend(
            own.into_iter().map(|((trace, case), verdict)| ((format!("{FORMATS}/{trace}"), case), verdict)),
        );
    }
    let count = |verdict| verdicts.values().filter(|v| **v == verdict).count();
    let (passed, failed, skipped) = (count(Verdict::Passed), count(Verdict::Failed), count(Verdict::Skipped));
    println!("conformance: {passed} passed, {failed} failed, {skipped} skipped");
    ensure!(failed == 0, "{failed} answers differ from the expected ones");
    ensure!(passed > 0, "no case was run");
    claims(&corpus, &binary)
}

/// What is explained, held to what must be true of any trace; the script says which claim is false, and of which trace.
fn claims(corpus: &Path, binary: &Path) -> Result<()> {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let status = Command::new("python3")
        .arg(corpus.join("check").join("claims.py"))
        .arg("--bin")
        .arg(binary)
        .args(["--jobs", &jobs.to_string()])
        .status()
        .context("cannot run python3")?;
    ensure!(status.success(), "explanations are false");
    Ok(())
}

fn ask(corpus: &Path, binary: &Path, analysis: &str) -> Result<String> {
    ask_of(corpus, binary, &["--only", analysis])
}

fn ask_of(corpus: &Path, binary: &Path, words: &[&str]) -> Result<String> {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let output = Command::new("python3")
        .arg(corpus.join("check").join("conformance.py"))
        .arg("--bin")
        .arg(binary)
        .args(words)
        .args(["--jobs", &jobs.to_string()])
        .output()
        .context("cannot run python3")?;
    // Its exit code says whether all cases passed, which is decided here; a crash leaves no closing line.
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !text.lines().any(|l| closing(l).is_some()) {
        bail!(
            "conformance.py {} broke off: {}",
            words.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(text)
}

/// Reads the script's lines, and holds their number against its own count: a line this does not understand must
/// not silently drop out.
fn read(output: &str) -> Result<Verdicts> {
    let mut verdicts = Verdicts::new();
    let (mut lines, mut told) = (0, None);
    for line in output.lines() {
        if let Some(total) = closing(line) {
            told = Some(total);
        } else if let Some((case, verdict)) = judge(line) {
            lines += 1;
            verdicts.insert(case, verdict);
        }
    }
    let told = told.context("no closing line")?;
    ensure!(lines == told, "{lines} cases read, but it counted {told}: has the form of its output changed?");
    Ok(verdicts)
}

/// One line of the script: `STATUS trace case…`, or `DIFF trace/case: …` for a file that is missing.
fn judge(line: &str) -> Option<((String, String), Verdict)> {
    let status = ["ok", "DIFF", "missing command", "skipped"]
        .into_iter()
        .find(|s| line.strip_prefix(s).is_some_and(|rest| rest.starts_with(' ')))?;
    let mut words = line[status.len()..].split_whitespace();
    let first = words.next()?.trim_end_matches(':');
    let (trace, case) = match first.split_once('/') {
        Some(pair) => pair,
        None => (first, words.next()?.trim_end_matches(':')),
    };
    let verdict = match status {
        "skipped" => Verdict::Skipped,
        _ if LATER_TRACES.contains(&trace) => Verdict::Skipped,
        "ok" => Verdict::Passed,
        _ if LATER_CASES.iter().any(|(t, c)| [trace, ""].contains(t) && [case, ""].contains(c)) => {
            Verdict::Skipped
        }
        _ => Verdict::Failed,
    };
    Some(((trace.to_owned(), case.to_owned()), verdict))
}

/// The number of cases in `conformance: N passed, N failed, N skipped`.
fn closing(line: &str) -> Option<usize> {
    let counts = line.strip_prefix("conformance: ")?.split(", ");
    let numbers: Option<Vec<usize>> = counts.map(|c| c.split(' ').next()?.parse().ok()).collect();
    numbers.filter(|n| n.len() == 3).map(|n| n.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::{Verdict, Verdicts, read};

    fn verdict(verdicts: &Verdicts, trace: &str, case: &str) -> Option<Verdict> {
        verdicts.get(&(trace.to_owned(), case.to_owned())).copied()
    }

    const OUTPUT: &str = "\
ok              b200_eager    breakdown
DIFF            cli           wrong_flag: exit code: expected 2, got 0
DIFF            jax_conv_08   breakdown: exit code: expected 0, got 3
missing command rocprof_908   breakdown: exit code: expected 0, got 2
missing command h100_qwen     breakdown.micro10: exit code: expected 0, got 2
DIFF            jax_conv_08_json breakdown: data.ranks: expected 1, got 2
skipped         two_ranks     breakdown  (reference data only)
conformance: 1 passed, 5 failed, 1 skipped
";

    #[test]
    fn verdicts_are_read_and_later_traces_do_not_count() {
        let verdicts = read(OUTPUT).unwrap();
        assert_eq!(verdicts.len(), 7);
        assert_eq!(verdict(&verdicts, "b200_eager", "breakdown"), Some(Verdict::Passed));
        assert_eq!(verdict(&verdicts, "cli", "wrong_flag"), Some(Verdict::Failed));
        assert_eq!(verdict(&verdicts, "jax_conv_08", "breakdown"), Some(Verdict::Skipped));
        assert_eq!(verdict(&verdicts, "rocprof_908", "breakdown"), Some(Verdict::Skipped));
        assert_eq!(verdict(&verdicts, "h100_qwen", "breakdown.micro10"), Some(Verdict::Failed));
        assert_eq!(
            verdict(&verdicts, "jax_conv_08_json", "breakdown"),
            Some(Verdict::Failed),
            "another format"
        );
        assert_eq!(verdict(&verdicts, "two_ranks", "breakdown"), Some(Verdict::Skipped));
    }

    #[test]
    fn a_missing_oracle_file_is_a_failure() {
        let text =
            "DIFF  two_ranks/info: the oracle file is missing\nconformance: 0 passed, 1 failed, 0 skipped\n";
        assert_eq!(verdict(&read(text).unwrap(), "two_ranks", "info"), Some(Verdict::Failed));
    }

    #[test]
    fn output_that_is_not_understood_is_an_error() {
        assert!(read("ok a b\n").is_err(), "no closing line");
        assert!(read("fine a b\nconformance: 1 passed, 0 failed, 0 skipped\n").is_err(), "a lost line");
        assert!(read("conformance: 1 failed\n").is_err());
    }

    #[test]
    fn no_case_at_all_is_not_a_pass() {
        // The script counts one failure when nothing ran; no line explains it.
        assert!(read("conformance: 0 passed, 1 failed, 0 skipped\n").is_err());
    }
}
