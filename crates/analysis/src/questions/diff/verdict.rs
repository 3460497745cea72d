//! A comparison in one sentence: what changed, by how much, on which hardware, and the few causes of most of it.
//!
//! The time of a step leads if both runs have steps, else the GPU time of a rank. Times of causes are of the same
//! thing: a step of a rank, or a whole rank. Runs of which hardly an operator or a kernel is in both are said to be
//! hardly comparable, rather than explained by what only one of them does.

use gpuscope_trace::Ns;

use super::causes::{Cause, Per, all_changes};
use super::recorded::{IDLE, Recorded};
use super::{Change, DiffRow, HostRow, PartRow, Place, Side, Total};
use crate::diff_tree::Why;
use crate::shared::text::time;

/// What is within one part in a hundred is the same to a reader.
const SAME: f64 = 0.01;
/// Below these shares of GPU time in kernels and of operators that both runs have, they are hardly comparable.
const FEW_KERNELS: f64 = 0.25;
const FEW_OPERATORS: f64 = 0.5;
/// What of a change of idle time the host's largest change has to be, to be named beside it.
const HOST_SHARE: f64 = 0.25;
/// Where a trace does not name its GPU.
const UNNAMED: &str = "a GPU not named in the trace";
/// Longer names are cut in the sentence; `causes` has them whole.
const LONGEST_NAME: usize = 60;

/// What the sentence is made from.
pub(super) struct Comparison<'d> {
    pub a: &'d Side,
    pub b: &'d Side,
    pub rows: &'d [DiffRow],
    pub host: &'d [HostRow],
    pub parts: &'d [PartRow],
    pub causes: &'d [Cause],
    pub per: Per,
}

impl Comparison<'_> {
    pub(super) fn sentence(&self) -> String {
        let (what, [was, is]) = self.leading();
        if let Some(who) = self.without_gpu_work() {
            return format!("{who}; {}.", self.of_host());
        }
        let hardware = hardware(&self.a.recorded, &self.b.recorded);
        let change = format!("{what} {}, {hardware}", from_to(was, is));
        if let Some(common) = self.hardly_common() {
            return format!("Hardly comparable: {common}; {change}.");
        }
        let is_same_work = all_changes(self.causes).as_f64() <= SAME * larger(self.work()).as_f64();
        if is_about(was, is) && is_same_work {
            let is_exact = was == is && self.rows.iter().all(|row| row.change == Change::Same);
            return if is_exact {
                format!("No difference: {change}.")
            } else {
                format!("Hardly any difference: {change}.")
            };
        }
        let mut said = vec![capital(&change)];
        if !is_about(was, is) && !self.parts.is_empty() {
            said = vec![format!("{}: {}", capital(&change), self.of_step())];
            said.extend(self.why_idle());
        }
        said.push(if is_same_work { "the GPU's work is the same".to_owned() } else { self.of_work(what) });
        let [a, b] = [self.a.recorded.ranks, self.b.recorded.ranks];
        if a != b {
            said.push(format!("A has {}, B {}", counted(a, "rank"), counted(b, "rank")));
        }
        format!("{}.", said.join("; "))
    }

    fn leading(&self) -> (&'static str, [Ns; 2]) {
        let ranks = self.a.recorded.ranks.max(self.b.recorded.ranks);
        match (self.a.recorded.step, self.b.recorded.step) {
            (Some(a), Some(b)) => ("step time", [a.step(), b.step()]),
            _ if ranks > 1 => ("GPU time of a rank", self.work()),
            _ => ("GPU time", self.work()),
        }
    }

    /// GPU time of a step, or of a rank.
    fn work(&self) -> [Ns; 2] {
        [self.per.in_a(gpu_time(self.rows, |row| row.a)), self.per.in_b(gpu_time(self.rows, |row| row.b))]
    }

    /// What of a step changed: of computing, communicating, copying and idling what makes up most.
    fn of_step(&self) -> String {
        let mut parts: Vec<&PartRow> = self.parts.iter().filter(|part| part.delta_ns != Ns::ZERO).collect();
        let size = |part: &&PartRow| part.delta_ns.0.saturating_abs();
        parts.sort_by_key(|part| std::cmp::Reverse(size(part)));
        let all: i64 = parts.iter().map(size).sum();
        // What is a tenth of the rest is not worth its words.
        parts.retain(|part| 10 * i128::from(size(part)) >= i128::from(all));
        let said: Vec<String> =
            parts.iter().map(|part| format!("{} {}", part.part, signed(part.delta_ns))).collect();
        said.join(", ")
    }

    fn of_work(&self, leading: &str) -> String {
        let [was, is] = self.work();
        let net = is - was;
        let foremost = Cause::foremost(self.causes);
        let sum: Ns = foremost.iter().map(|cause| cause.delta_ns).sum();
        let gross: f64 = foremost.iter().map(|cause| cause.share_pct).sum();
        let said: Vec<String> = foremost.iter().map(|cause| self.cause(cause)).collect();
        let said = said.join(", ");
        let is_one_way = foremost.iter().all(|cause| (cause.delta_ns > Ns::ZERO) == (net > Ns::ZERO));
        let share = sum.pct_of(net);
        let of_step = if self.per.step { " of a step" } else { "" };
        let work = if leading.starts_with("GPU") {
            String::new()
        } else {
            format!("GPU time{of_step} {}, ", from_to(was, is))
        };
        if is_one_way && (50.0..=100.5).contains(&share) {
            format!("{work}{share:.0} % of that change from {said}")
        } else {
            format!("{work}{gross:.0} % of all changes, up or down, from {said}")
        }
    }

    fn cause(&self, cause: &Cause) -> String {
        let per_a = |count: u64| count as f64 / self.per.a as f64;
        let per_b = |count: u64| count as f64 / self.per.b as f64;
        let (a, b) = (per_a(cause.a.count), per_b(cause.b.count));
        let flops = cause.a_gflops.zip(cause.b_gflops).map(|(was, is)| {
            let ratio = (is / self.per.b as f64) / (was / self.per.a as f64);
            format!("{ratio:.2} × the FLOPs")
        });
        let same = match flops {
            Some(_) => "the same work",
            None if number(a) == number(b) => "the same number of kernels",
            None => "about as many kernels",
        };
        let is_elsewhere = self.a.recorded.hardware != self.b.recorded.hardware;
        let why = match cause.why {
            // Another GPU has other kernels.
            Why::OtherKernels if is_elsewhere => {
                format!("{same}, {}", if cause.delta_ns > Ns::ZERO { "slower" } else { "faster" })
            }
            Why::OtherKernels => format!("{same}, other kernels"),
            Why::OnlyA => "only in A".to_owned(),
            Why::OnlyB => "only in B".to_owned(),
            Why::MoreWork | Why::LessWork => flops.unwrap_or_else(|| cause.why.label().to_owned()),
            Why::MoreEvents | Why::FewerEvents => format!("{} → {} kernels", number(a), number(b)),
            Why::Same => cause.why.label().to_owned(),
            Why::Slower | Why::Faster => format!("{same}, {}", cause.why.label()),
        };
        format!("{} {} ({why})", cut(&cause.name), signed(cause.delta_ns))
    }

    fn without_gpu_work(&self) -> Option<&'static str> {
        let has = |of: fn(&DiffRow) -> Total| {
            self.rows.iter().any(|row| row.device == Place::Gpu && of(row).count > 0)
        };
        match (has(|row| row.a), has(|row| row.b)) {
            (true, true) => None,
            (true, false) => Some("Only A has GPU work"),
            (false, true) => Some("Only B has GPU work"),
            (false, false) => Some("No GPU work on either side"),
        }
    }

    /// What of the host took longer or less long, if it accounts for most of the change by the GPU's idle time.
    fn why_idle(&self) -> Option<String> {
        let most = self.parts.iter().max_by_key(|part| part.delta_ns.0.saturating_abs())?;
        let (row, delta) = self.most_on_host()?;
        let is_cause = (delta > Ns::ZERO) == (most.delta_ns > Ns::ZERO)
            && delta.as_f64().abs() >= HOST_SHARE * most.delta_ns.as_f64().abs();
        (most.part == IDLE && is_cause).then(|| of_host(row, delta))
    }

    fn of_host(&self) -> String {
        match self.most_on_host() {
            Some((row, delta)) => of_host(row, delta),
            None => "the host's times are the same".to_owned(),
        }
    }

    /// Where the host's own time changed most, calls of the runtime and the driver aside: these may merely wait.
    fn most_on_host(&self) -> Option<(&DiffRow, Ns)> {
        let is_call = |name: &str| [self.a, self.b].iter().any(|side| side.recorded.calls.contains(name));
        let own = |host: &HostRow| self.per.in_b(host.b_own_ns) - self.per.in_a(host.a_own_ns);
        let hosts = self.host.iter().filter(|host| !is_call(&host.row.name));
        let most = hosts.max_by_key(|host| own(host).0.saturating_abs())?;
        Some((&most.row, own(most))).filter(|(_, delta)| *delta != Ns::ZERO)
    }

    /// How little both runs have, if it is too little to compare.
    fn hardly_common(&self) -> Option<String> {
        let in_both = self.rows.iter().filter(|row| row.a.count > 0 && row.b.count > 0);
        let both: Vec<&DiffRow> = in_both.filter(|row| row.device == Place::Gpu).collect();
        let share = |of: fn(&DiffRow) -> Total| {
            let common: Ns = both.iter().map(|row| of(row).sum_ns).sum();
            let all = gpu_time(self.rows, of).as_f64();
            if all > 0.0 { common.as_f64() / all } else { 1.0 }
        };
        let kernels = share(|row| row.a).min(share(|row| row.b));
        let [a, b] = [&self.a.recorded.operators, &self.b.recorded.operators];
        let common = a.intersection(b).count();
        let operators = common as f64 / a.union(b).count().max(1) as f64;
        let has_operators = !a.is_empty() && !b.is_empty();
        let pct = |share: f64| (100.0 * share).round();
        match () {
            () if kernels >= FEW_KERNELS || (has_operators && operators >= FEW_OPERATORS) => None,
            () if has_operators => Some(format!(
                "only {} % of the operators are in both runs, and kernels of the same name take {} % of the GPU time",
                pct(operators),
                pct(kernels)
            )),
            () => Some(format!("kernels of the same name take only {} % of the GPU time", pct(kernels))),
        }
    }
}

fn of_host(row: &DiffRow, delta: Ns) -> String {
    let whose = match row.change {
        Change::Added => " (only in B)",
        Change::Removed => " (only in A)",
        _ => "",
    };
    format!("on the host most in {} itself {}{whose}", cut(&row.name), signed(delta))
}

fn gpu_time(rows: &[DiffRow], of: fn(&DiffRow) -> Total) -> Ns {
    rows.iter().filter(|row| row.device == Place::Gpu).map(|row| of(row).sum_ns).sum()
}

fn larger([a, b]: [Ns; 2]) -> Ns {
    a.max(b)
}

fn is_about(a: Ns, b: Ns) -> bool {
    (b - a).as_f64().abs() <= SAME * larger([a, b]).as_f64()
}

/// Where each run was recorded.
fn hardware(a: &Recorded, b: &Recorded) -> String {
    let names = |side: &Recorded| {
        let names: Vec<&str> = side.hardware.iter().map(String::as_str).collect();
        if names.is_empty() { UNNAMED.to_owned() } else { names.join(" and ") }
    };
    match (names(a), names(b)) {
        (a, b) if a == b => format!("both on {a}"),
        (a, b) => format!("on {a} → {b}"),
    }
}

/// `41.2 ms → 55.0 ms (+33 %)`
fn from_to(was: Ns, is: Ns) -> String {
    let pct = (is - was).pct_of(was);
    let change = match () {
        () if was == is => return format!("{} on both sides", time(was)),
        () if was == Ns::ZERO => "from nothing".to_owned(),
        () if pct >= 900.0 => format!("× {:.0}", is.as_f64() / was.as_f64()),
        () if pct.abs() < 0.05 => "less than 0.1 %".to_owned(),
        () if pct.abs() < 9.95 => format!("{}{:.1} %", sign(pct), pct.abs()),
        () => format!("{}{:.0} %", sign(pct), pct.abs()),
    };
    format!("{} → {} ({change})", time(was), time(is))
}

fn signed(delta: Ns) -> String {
    format!("{}{}", sign(delta.as_f64()), time(Ns(delta.0.saturating_abs())))
}

fn sign(value: f64) -> &'static str {
    if value < 0.0 { "−" } else { "+" }
}

/// A whole number, or one decimal of a mean.
fn number(value: f64) -> String {
    if (value - value.round()).abs() < 0.05 { format!("{value:.0}") } else { format!("{value:.1}") }
}

fn counted(count: u64, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn cut(name: &str) -> String {
    match name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests;
