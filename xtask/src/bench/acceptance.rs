//! The promises about speed and memory, each with its number and whether it is met.

use anyhow::Result;

use super::cases::{Case, Tool};
use super::inputs::Input;
use crate::measure::Cost;

/// Parsing may take this many times the CPU of the barest scan over the same bytes.
const PARSE_TO_SCAN: f64 = 4.0;
/// A lone gzipped trace takes little longer than the slower of inflating and parsing, since both run at once.
const GZ_TO_SLOWER_HALF: f64 = 1.2;
const BYTES_PER_EVENT: u64 = 120;
const FIXED_BYTES: u64 = 40_000_000;
const SHELL_SECONDS: f64 = 0.1;

#[derive(Debug)]
pub(super) struct Check {
    what: String,
    /// The number and its limit, or why it was not measured.
    found: String,
    met: Option<bool>,
}

pub(super) fn checks(cases: &[Case], inputs: &[Input], shell: Result<f64>) -> Vec<Check> {
    let mut checks = Vec::new();
    for (index, input) in inputs.iter().enumerate() {
        let find = |tool, gz| cases.iter().find(|c| (c.input, c.tool, c.gz) == (index, tool, gz));
        let cost = |tool, gz| -> Option<Cost> { find(tool, gz)?.cost };
        let (scan, parse, inflate) =
            (cost(Tool::Scan, false), cost(Tool::Parse, false), cost(Tool::Inflate, true));

        let ratio = parse.zip(scan).map(|(p, s)| p.cpu_s / s.cpu_s);
        checks.push(at_most(format!("parse CPU / scan CPU, {}", input.label), ratio, PARSE_TO_SCAN));
        let slower = parse.zip(inflate).map(|(p, i)| p.wall_s.max(i.wall_s));
        let ratio = cost(Tool::Read, true).zip(slower).map(|(whole, half)| whole.wall_s / half);
        checks.push(at_most(
            format!("reading gz, wall / max(inflate, parse) wall, {}", input.label),
            ratio,
            GZ_TO_SLOWER_HALF,
        ));
        for (tool, gz) in [Tool::Breakdown, Tool::Kernels].into_iter().flat_map(|t| [(t, false), (t, true)]) {
            if let Some(case) = find(tool, gz) {
                checks.push(memory(case, input));
            }
        }
    }
    let what = "breakdown of a 20 MB trace from the shell, median".to_owned();
    checks.push(match shell {
        Ok(seconds) => {
            let found = format!("{seconds:.3} s, below {SHELL_SECONDS} s");
            Check { what, found, met: Some(seconds < SHELL_SECONDS) }
        }
        Err(error) => Check { what, found: format!("not measured: {error:#}"), met: None },
    });
    checks
}

impl Check {
    pub(super) fn at_most(what: &str, ratio: f64, limit: f64) -> Check {
        at_most(what.to_owned(), Some(ratio), limit)
    }
}

fn at_most(what: String, ratio: Option<f64>, limit: f64) -> Check {
    match ratio {
        Some(ratio) => {
            Check { what, found: format!("{ratio:.2}, at most {limit}"), met: Some(ratio <= limit) }
        }
        None => Check { what, found: "not measured".to_owned(), met: None },
    }
}

fn memory(case: &Case, input: &Input) -> Check {
    let what = format!("{}, {}{}", case.tool.name(), input.label, if case.gz { ", gz" } else { "" });
    let Some((cost, events)) = case.cost.zip(case.events) else {
        return Check { what: format!("peak RSS of {what}"), found: "not measured".to_owned(), met: None };
    };
    memory_of(&what, cost.rss_bytes, events)
}

/// What so many events may take.
pub(super) fn memory_of(what: &str, rss_bytes: u64, events: u64) -> Check {
    let what = format!("peak RSS of {what}");
    let limit = BYTES_PER_EVENT * events + FIXED_BYTES;
    let (used, most) = (rss_bytes as f64 / 1e6, limit as f64 / 1e6);
    let found = format!("{used:.0} MB, at most {most:.0} MB ({BYTES_PER_EVENT} B × {events} events + 40 MB)");
    Check { what, found, met: Some(rss_bytes <= limit) }
}

/// One line per check.
pub(super) fn text(checks: &[Check]) -> String {
    let line = |c: &Check| {
        let verdict = match c.met {
            Some(true) => "met",
            Some(false) => "NOT MET",
            None => "unknown",
        };
        format!("- {verdict}: {}: {}\n", c.what, c.found)
    };
    checks.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::cases::{Case, Tool, case, some_input};
    use super::{checks, text};

    fn run() -> Vec<Case> {
        let mut cases = vec![
            case(0, false, Tool::Breakdown, 0.5, 0.5, 160_000_000),
            case(0, true, Tool::Breakdown, 0.9, 0.6, 160_000_001),
            case(0, false, Tool::Scan, 0.1, 0.1, 0),
            case(0, false, Tool::Parse, 0.4, 0.45, 0),
            case(0, true, Tool::Inflate, 0.5, 0.5, 0),
            case(0, true, Tool::Read, 0.9, 0.6, 0),
        ];
        cases[0].events = Some(1_000_000);
        cases[1].events = Some(1_000_000);
        cases
    }

    #[test]
    fn each_promise_is_judged_on_its_limit() {
        let inputs = [some_input("a", 1)];
        let lines = text(&checks(&run(), &inputs, Ok(0.05)));
        assert_eq!(
            lines.lines().collect::<Vec<_>>(),
            [
                "- met: parse CPU / scan CPU, a: 4.00, at most 4",
                "- met: reading gz, wall / max(inflate, parse) wall, a: 1.20, at most 1.2",
                "- met: peak RSS of gpuscope breakdown, a: 160 MB, at most 160 MB (120 B × 1000000 events + 40 MB)",
                "- NOT MET: peak RSS of gpuscope breakdown, a, gz: 160 MB, at most 160 MB (120 B × 1000000 events + 40 MB)",
                "- met: breakdown of a 20 MB trace from the shell, median: 0.050 s, below 0.1 s",
            ]
        );
    }

    #[test]
    fn what_was_not_measured_is_not_met() {
        let inputs = [some_input("a", 1)];
        let mut cases = run();
        cases.retain(|c| !c.tool.is_limit());
        cases[0].events = None;
        let lines = text(&checks(&cases, &inputs, Err(anyhow::anyhow!("no such command"))));
        assert_eq!(lines.matches("- unknown: ").count(), 4, "{lines}");
        assert!(lines.contains("not measured: no such command"), "{lines}");
        let slow = text(&checks(&run(), &inputs, Ok(0.1)));
        assert!(slow.contains("- NOT MET: breakdown of a 20 MB trace"), "{slow}");
    }
}
