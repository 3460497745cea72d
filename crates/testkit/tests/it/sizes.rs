//! Asked for a size, a plan comes close to it.

use gpuscope_testkit::{Plan, write_rank};

fn close(wanted: u64, got: u64) {
    assert!(got * 10 >= wanted * 7 && got * 10 <= wanted * 13, "wanted {wanted}, got {got}");
}

#[test]
fn events_come_close() {
    for wanted in [100, 250, 600, 1_500, 4_000, 30_000] {
        for plan in [Plan::small(), Plan::healthy().ranks(2), Plan::small().ranks(1).sharded()] {
            let plan = plan.with_events(wanted);
            let truth = write_rank(&plan, 0, &mut std::io::sink()).expect("written");
            close(wanted, truth.elements);
        }
    }
}

#[test]
fn bytes_come_close() {
    for wanted in [60_000, 1_000_000, 10_000_000] {
        let plan = Plan::healthy().ranks(1).with_bytes(wanted);
        let truth = write_rank(&plan, 0, &mut std::io::sink()).expect("written");
        close(wanted, truth.bytes);
    }
}
