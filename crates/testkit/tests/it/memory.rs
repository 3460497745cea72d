//! Memory that is nearly full, and memory that is in pieces.

use gpuscope_testkit::{Plan, truth};

use crate::reread::{Reread, reread};

const DEVICE: i64 = 85_029_158_912;

fn light() -> Plan {
    Plan { ranks: 2, steps: 3, layers: 4, ..Plan::light() }
}

/// The most that was reserved and the most that was allocated.
fn peaks(file: &Reread) -> (i64, i64) {
    let rows = file.elements().iter().filter(|element| element["name"] == "[memory]");
    let most = |key: &str| rows.clone().filter_map(|row| row["args"][key].as_i64()).max().expect("rows");
    (most("Total Reserved"), most("Total Allocated"))
}

#[test]
fn memory_near_the_limit_is_nearly_all_needed() {
    let plan = light().with_memory_near_limit(1, 500 << 20);
    let (reserved, allocated) = peaks(&reread(&plan, 1));
    assert_eq!(reserved, DEVICE - (500 << 20));
    assert!(reserved - allocated < 100 << 20, "{allocated} of {reserved}");
    let (reserved, _) = peaks(&reread(&plan, 0));
    assert!(reserved < DEVICE / 2);
    assert_eq!(truth(&plan).faults[0].lost_ns, 0);
}

#[test]
fn fragmented_memory_is_reserved_but_not_allocated() {
    let plan = light().with_fragmentation(0, 400_000);
    let file = reread(&plan, 0);
    let (reserved, allocated) = peaks(&file);
    assert!(reserved > DEVICE * 99 / 100 && allocated < reserved / 2, "{allocated} of {reserved}");
    let calls = |name: &str| file.spans().iter().filter(|span| span.name == name).count();
    assert_eq!((calls("cudaMalloc"), calls("cudaFree")), (2 * 3 * 4, 2 * 3 * 4));
    let fault = &truth(&plan).faults[0];
    assert_eq!((fault.code, fault.rank), ("fragmentation", Some(0)));
    assert!(fault.step_lost_ns > 1_000_000, "{fault:?}");
}
