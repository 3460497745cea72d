//! Idle time as tables.

use gpuscope_table::{Table, Tabular, Unit};

use super::IdleAnswer;

impl Tabular for IdleAnswer {
    fn tables(&self) -> Vec<Table> {
        let devices = Table::of("devices", "What idle devices waited for", &self.devices)
            .int("rank", Unit::None, "The rank", |d| i64::from(d.rank))
            .int("device", Unit::None, "The device", |d| d.device)
            .int("idle_ns", Unit::Ns, "Time in which nothing ran", |d| d.idle_ns.0)
            .int("host_ns", Unit::Ns, "… because the host had not launched anything", |d| d.host_ns.0)
            .int("in_call_ns", Unit::Ns, "… inside the call that launched the next work", |d| {
                d.in_call_ns.0
            })
            .int("launch_ns", Unit::Ns, "… because a launch takes its time to arrive", |d| d.launch_ns.0)
            .int("queued_ns", Unit::Ns, "… because launched work waited for something else", |d| {
                d.queued_ns.0
            })
            .int("unlinked_ns", Unit::Ns, "… before work whose launch is unknown", |d| d.unlinked_ns.0)
            .int(
                "unrecorded_ns",
                Unit::Ns,
                "… as it seems: work from before the recording still ran",
                |d| d.unrecorded_ns.0,
            )
            .float("host_pct", Unit::Percent, "Waiting for the host, of the idle time", |d| {
                d.host_ns.pct_of(d.idle_ns)
            })
            .build();
        let causes = Table::of("host_causes", "What the host did meanwhile", &self.host_causes)
            .int("rank", Unit::None, "The rank", |c| i64::from(c.rank))
            .text("cause", "What sort of thing the launching thread did", |c| c.cause.label().to_owned())
            .int("idle_ns", Unit::Ns, "Device idle time behind it", |c| c.idle_ns.0)
            .int("count", Unit::Count, "Gaps it had a part in", |c| c.count as i64)
            .text("name", "The event behind most of it", |c| c.name.clone())
            .build();
        let calls = Table::of("calls", "The launching calls that devices idled in", &self.calls)
            .int("rank", Unit::None, "The rank", |c| i64::from(c.rank))
            .text("name", "The call", |c| c.name.clone())
            .int("idle_ns", Unit::Ns, "Device idle time inside these calls", |c| c.idle_ns.0)
            .int("count", Unit::Count, "Calls", |c| c.count as i64)
            .int("longest_ns", Unit::Ns, "The most inside one call", |c| c.longest_ns.0)
            .int("held_up_ns", Unit::Ns, "Inside blocking copies, or calls far longer than their like", |c| {
                c.held_up_ns.0
            })
            .build();
        let gaps = Table::of("host_gaps", "The longest waits for the host", &self.host_gaps)
            .int("rank", Unit::None, "The rank", |g| i64::from(g.rank))
            .int("device", Unit::None, "The device", |g| g.device)
            .int("step", Unit::None, "The step that launched what ended it", |g| g.step)
            .int("idle_ns", Unit::Ns, "How long nothing was on its way", |g| g.idle_ns.0)
            .text("cause", "What sort of thing the launching thread did", |g| g.cause.label().to_owned())
            .text("stack", "What it was in, the innermost first", |g| {
                let stack: Vec<&str> = g.stack.iter().rev().map(String::as_str).collect();
                (!stack.is_empty()).then(|| stack.join(" < "))
            })
            .int("start_ns", Unit::TimestampNs, "When it began", |g| g.start_ns.0)
            .build();
        let streams = Table::of("streams", "Gaps per stream", &self.streams)
            .int("rank", Unit::None, "The rank", |s| i64::from(s.rank))
            .int("device", Unit::None, "The device", |s| s.device)
            .int("stream", Unit::None, "The stream", |s| s.stream)
            .int("host_wait_ns", Unit::Ns, "Gaps before work launched late", |s| {
                s.categories.host_wait.idle_ns.0
            })
            .int("kernel_wait_ns", Unit::Ns, "Short gaps between kernels", |s| {
                s.categories.kernel_wait.idle_ns.0
            })
            .int("other_ns", Unit::Ns, "Other gaps", |s| s.categories.other.idle_ns.0)
            .int("host_wait_count", Unit::Count, "Gaps before work launched late", |s| {
                s.categories.host_wait.count as i64
            })
            .int("kernel_wait_count", Unit::Count, "Short gaps between kernels", |s| {
                s.categories.kernel_wait.count as i64
            })
            .int("other_count", Unit::Count, "Other gaps", |s| s.categories.other.count as i64)
            .build();
        vec![devices, causes, gaps, calls, streams]
    }
}
