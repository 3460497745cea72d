//! What is wrong with the clocks of a job.

use gpuscope_trace::{Code, Quality};

use super::{Clock, Offsets};

impl Offsets {
    /// Clocks that are surely off, that do not run evenly, and hosts whose ranks do not share one.
    pub fn quality(&self) -> Vec<Quality> {
        let torn = self.torn_hosts.iter().map(|host| {
            let message = format!(
                "the ranks of host {host} do not share a clock: their collectives cannot have happened at the times \
                 written; each is aligned by itself"
            );
            Quality::new(Code::ClockSkew, 1, message)
        });
        torn.chain(self.clocks.iter().filter_map(|clock| self.skew(clock))).collect()
    }

    fn skew(&self, clock: &Clock) -> Option<Quality> {
        let line = clock.line?;
        let (first, last) = clock.span;
        let surely_off = [first, i64::midpoint(first, last), last]
            .into_iter()
            .any(|time| line.at(time).saturating_abs() > line.half_width(time));
        if !surely_off && line.contradiction.is_none() {
            return None;
        }
        let found = self.rank_clock(clock.member);
        let whose = match &found.host {
            Some(host) if !self.torn_hosts.contains(host) => format!("host {host}"),
            _ => format!("rank {}", found.rank),
        };
        let message = match found.contradiction_ns {
            Some(by) => format!(
                "the clock of {whose} fits no even course against rank {}: collectives contradict each other by {}; \
                 matched wrongly, or the clock was set during the run; it is not aligned",
                found.reference_rank,
                us(by.0)
            ),
            None => format!(
                "the clock of {whose} is {} {} rank {}'s (±{}, gaining {} ns a second): raw starts, waits and skews \
                 are off by as much, aligned ones are not",
                us(found.offset_ns.0.saturating_abs()),
                if found.offset_ns.0 < 0 { "behind" } else { "ahead of" },
                found.reference_rank,
                us(found.half_width_ns.0),
                found.drift_ppb,
            ),
        };
        let ranks = (0..self.of_member.len() as u32).filter(|m| std::ptr::eq(self.clock(*m), clock)).count();
        Some(Quality::new(Code::ClockSkew, ranks as u64, message).of_rank(found.rank))
    }
}

fn us(ns: i64) -> String {
    format!("{:.1} µs", ns as f64 / 1e3)
}
