//! Instructions of every question by itself, in one run: callgrind writes its counts down and starts afresh each
//! time the measured function returns.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::steps;

const MEASURED: &str = "cost::measured";
/// Rows of the program's output that are not about a question.
const OTHER_ROWS: [&str; 2] = ["events", "reading"];

/// Name and instructions of each question, in the order they were asked.
pub(super) fn count(program: &Path, trace: &Path) -> Result<Vec<(String, u64)>> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("out");
    let text = steps::capture(
        Command::new("valgrind")
            .args(["--tool=callgrind", "--collect-atstart=no"])
            .arg(format!("--toggle-collect={MEASURED}"))
            .arg(format!("--dump-after={MEASURED}"))
            .arg(format!("--callgrind-out-file={}", out.display()))
            .args([program, trace])
            .arg("1"),
    )?;
    let names = text.lines().filter_map(|line| line.split_whitespace().next());
    let names = names.filter(|name| !OTHER_ROWS.contains(name));
    let mut counts = Vec::new();
    for (i, name) in names.enumerate() {
        let file = out.with_extension((i + 1).to_string());
        let dump = std::fs::read_to_string(&file).with_context(|| {
            format!("callgrind counted nothing for {name}; is {MEASURED} still called so?")
        })?;
        let total = total(&dump).with_context(|| format!("no total for {name}"))?;
        counts.push((name.to_owned(), total));
    }
    ensure!(!counts.is_empty(), "no question was asked: {text}");
    Ok(counts)
}

fn total(dump: &str) -> Option<u64> {
    dump.lines().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::total;

    #[test]
    fn the_total_is_read_from_a_dump() {
        assert_eq!(total("version: 1\nfn=(1) a\n0 5\n\ntotals: 1471405\n"), Some(1_471_405));
        assert_eq!(total("version: 1\n"), None);
    }
}
