//! The table of late ranks.

use gpuscope_table::{Table, Unit};

use crate::collectives::LateRow;

pub(super) fn table(rows: &[LateRow]) -> Table {
    Table::of("late", "Who kept the others waiting longest, and what it did instead", rows)
        .int("late_rank", Unit::None, "The rank that came last", |l| i64::from(l.late_rank))
        .int("step", Unit::None, "The step that launched the collective", |l| l.step)
        .int("behind_ns", Unit::Ns, "How far it was behind the one before it", |l| l.behind_ns.0)
        .text("doing", "What it did more of than that one since both were last in step", |l| {
            l.doing.label().to_owned()
        })
        .text("cause", "What kept the host, if that was it", |l| {
            l.cause.map(|cause| cause.label().to_owned())
        })
        .text("event", "The kernel or host event behind most of it", |l| l.event.clone())
        .text("name", "The operation", |l| l.name.to_string())
        .text("group", "The process group", |l| l.group.as_deref().map(str::to_owned))
        .int("more_ns", Unit::Ns, "How much more", |l| l.more_ns.0)
        .int("waited_ns", Unit::Ns, "What the others waited, all together", |l| l.waited_ns.0)
        .int("second_rank", Unit::None, "The rank that came before it", |l| i64::from(l.second_rank))
        .int("since_ns", Unit::Ns, "From when both were last in step until it came", |l| l.late.since_ns.0)
        .int("computation_ns", Unit::Ns, "Of that, computation", |l| l.late.computation_ns.0)
        .int("communication_ns", Unit::Ns, "Communication that nothing hid", |l| l.late.communication_ns.0)
        .int("host_ns", Unit::Ns, "Nothing to do, as the host had launched nothing", |l| l.late.host_ns.0)
        .int("other_ns", Unit::Ns, "Copies, launches, waiting for other streams", |l| l.late.other_ns.0)
        .int("start_ns", Unit::TimestampNs, "The collective's earliest start, as written", |l| l.start_ns.0)
        .build()
}
