//! The table of all questions, and the promises about them.

use std::fmt::Write;

use super::{Costs, READING, TOGETHER};

const REAL_MS: f64 = 250.0;
const PATTERNS_MS: f64 = 50.0;
const TIMES_READING: f64 = 3.0;
/// A million events, with room for the size being given in bytes.
const A_MILLION: std::ops::Range<f64> = 0.9e6..1.2e6;
/// Our own limit: n log n is 1.07 between 100 k and 10 M events, the rest is room for caches that no longer hold the
/// trace. A square would be 2.
const EXPONENT: f64 = 1.3;
/// Questions so quick that the clock decides.
const TOO_QUICK_MS: f64 = 1.0;

/// CPU seconds of HTA 0.6.1 on `trace_diff_control`, measured by itself on another machine: an order of magnitude.
const HTA: [(&str, f64); 3] = [("patterns", 12.64), ("op-kernels", 6.52), ("critical-path", 1.24)];
/// And of seven of its analyses together.
const HTA_SEVEN: f64 = 0.67;
const SEVEN: [&str; 7] = ["temporal", "idle", "overlap", "kernels", "queue", "bandwidth", "launches"];

pub(super) fn markdown(real: Option<&Costs>, made_up: &[Costs]) -> String {
    let mut text = "CPU milliseconds of one thread. Each question starts from a trace in memory with no index yet; \
                    `together` asks all of them with one index. \"× reading\" is to reading the same file. \"growth\" \
                    is the exponent of the number of events, from the smallest to the largest made-up trace; n log n is 1.07, \
                    and caches that no longer hold the trace add to it (`cargo xtask instructions` holds the growth in \
                    instructions). Longer made-up traces have more steps, not longer ones: `whole-path` is the critical \
                    path through all of them, and not part of `together`. HTA: its \
                    0.6.1 on trace_diff_control, measured by itself on another machine, CPU time against ours: an \
                    order of magnitude.\n\n| question |"
        .to_owned();
    let mut columns: Vec<(String, &Costs)> =
        real.map(|real| ("trace_diff_control".to_owned(), real)).into_iter().collect();
    columns.extend(made_up.iter().map(|costs| (format!("made-up {:.2} M", costs.events / 1e6), costs)));
    for (name, _) in &columns {
        let _ = write!(text, " {name} ms | × reading |");
    }
    text.push_str(" growth | HTA |\n|---|");
    text.push_str(&"---:|---:|".repeat(columns.len()));
    text.push_str("---:|---:|\n");
    let Some((_, first)) = columns.first() else { return text };
    for (question, _) in &first.ms {
        let _ = write!(text, "| {question} |");
        for (_, costs) in &columns {
            let cells = costs.of(question).zip(costs.of(READING));
            let _ = match cells {
                Some((ms, reading)) => write!(text, " {ms:.1} | {:.2} |", ms / reading),
                None => write!(text, " – | – |"),
            };
        }
        let growth = exponent(made_up, question).map_or_else(|| "–".to_owned(), |e| format!("{e:.2}"));
        let hta = real.and_then(|real| times_hta(real, question)).unwrap_or_else(|| "–".to_owned());
        let _ = writeln!(text, " {growth} | {hta} |");
    }
    if let Some(seven) = real.and_then(seven) {
        let times = HTA_SEVEN * 1e3 / seven;
        let _ = writeln!(
            text,
            "\n{} together: {seven:.1} ms on trace_diff_control, {HTA_SEVEN} s in HTA ({times:.0} ×).",
            SEVEN.join(", ")
        );
    }
    text
}

fn times_hta(real: &Costs, question: &str) -> Option<String> {
    let (_, seconds) = HTA.iter().find(|(name, _)| *name == question)?;
    Some(format!("{seconds} s, {:.0} ×", seconds * 1e3 / real.of(question)?))
}

fn seven(real: &Costs) -> Option<f64> {
    SEVEN.iter().map(|name| real.of(name)).sum()
}

/// How time grows with events: 1 is in step.
fn exponent(made_up: &[Costs], question: &str) -> Option<f64> {
    let (small, large) = (made_up.first()?, made_up.last()?);
    let (a, b) = (small.of(question)?, large.of(question)?);
    (a > 0.0 && large.events > small.events)
        .then(|| (b / a).ln() / (large.events / small.events).ln())
        .filter(|exponent| exponent.is_finite())
}

pub(super) fn checks(real: Option<&Costs>, made_up: &[Costs]) -> String {
    let mut text = String::new();
    let mut check = |what: &str, found: Option<f64>, limit: f64, unit: &str| {
        let _ = match found {
            Some(found) => {
                let verdict = if found <= limit { "met" } else { "NOT MET" };
                writeln!(text, "- {verdict}: {what}: {found:.2}{unit}, at most {limit}{unit}")
            }
            None => writeln!(text, "- unknown: {what}: not measured"),
        };
    };
    let of_real = |name| real.and_then(|real| real.of(name));
    check("all questions together on trace_diff_control", of_real(TOGETHER), REAL_MS, " ms");
    check("frequent sequences on trace_diff_control", of_real("patterns"), PATTERNS_MS, " ms");
    let million = made_up.iter().find(|costs| A_MILLION.contains(&costs.events));
    let ratio = million.and_then(|costs| Some(costs.of(TOGETHER)? / costs.of(READING)?));
    check("all questions together / reading, a million events", ratio, TIMES_READING, "");
    let slow = |question: &&String| made_up.first().and_then(|c| c.of(question)) >= Some(TOO_QUICK_MS);
    let names = made_up.first().into_iter().flat_map(|costs| costs.ms.iter().map(|(name, _)| name));
    let worst = names
        .filter(slow)
        .filter_map(|name| Some((name, exponent(made_up, name)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let span = made_up.last().map_or(0.0, |costs| costs.events / 1e6);
    let name = worst.map_or("", |(name, _)| name);
    let what = format!("steepest growth from 0.1 M to {span:.0} M events ({name}), exponent");
    check(&what, worst.map(|(_, exponent)| exponent), EXPONENT, "");
    text
}

#[cfg(test)]
mod tests {
    use super::{Costs, checks, markdown};

    fn costs(events: f64, scale: f64) -> Costs {
        let ms = [("reading", 30.0), ("patterns", 4.0), ("together", 85.0)];
        Costs { events, ms: ms.map(|(name, ms)| (name.to_owned(), ms * scale)).to_vec() }
    }

    #[test]
    fn rows_have_ratio_growth_and_hta() {
        let made_up = [costs(1e5, 1.0), costs(1e6, 10.0)];
        let text = markdown(Some(&costs(1e5, 1.0)), &made_up);
        let row = text.lines().find(|line| line.starts_with("| patterns")).unwrap();
        assert_eq!(row, "| patterns | 4.0 | 0.13 | 4.0 | 0.13 | 40.0 | 0.13 | 1.00 | 12.64 s, 3160 × |");
    }

    #[test]
    fn each_limit_is_judged() {
        let made_up = [costs(1e5, 1.0), costs(1e6, 10.0)];
        assert_eq!(checks(Some(&costs(1e5, 2.9)), &made_up).matches("- met").count(), 4);
        let slow = checks(Some(&costs(1e5, 13.0)), &[costs(1e5, 1.0), costs(1e6, 100.0)]);
        assert_eq!(slow.matches("- NOT MET").count(), 3, "{slow}");
        assert_eq!(checks(None, &[]).matches("- unknown").count(), 4);
    }
}
