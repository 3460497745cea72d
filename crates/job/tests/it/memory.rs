//! The peak of a rank's memory is the planted one, to the byte and the nanosecond.

use gpuscope_analysis::Memory;
use gpuscope_analysis::memory::{Category, MemoryAnswer};
use gpuscope_job::{JobOptions, Run};
use gpuscope_testkit::{Compression, Detail, Plan, Truth, write_job};

use crate::plans::{mixtures, plans};

fn ask(plan: &Plan) -> (Truth, MemoryAnswer) {
    let folder = tempfile::tempdir().expect("a folder");
    let truth = write_job(plan, folder.path(), Compression::None).expect("written");
    let run =
        Run::open(&[folder.path().to_string_lossy().into_owned()], JobOptions::default()).expect("traces");
    (truth, run.ask(&Memory { series: true }).expect("an answer").answer)
}

#[test]
fn the_peak_is_the_planted_one() {
    let labelled = plans().into_iter().map(|(label, plan)| (label.to_owned(), plan));
    let mixed = mixtures().map(|plan| (format!("{plan:?}"), plan));
    let mut peaks = 0;
    for (label, plan) in labelled.chain(mixed) {
        let (truth, answer) = ask(&plan);
        for rank in truth.ranks.iter().filter(|rank| rank.written) {
            let device = answer.devices.iter().find(|device| device.rank == rank.rank);
            let found = device.map(|device| (device.peak.allocated_bytes, device.peak.time_ns.0));
            let planted = rank.memory_peak.map(|peak| (peak.bytes, peak.at_ns));
            assert_eq!(found, planted, "{label}, rank {}", rank.rank);
            peaks += usize::from(planted.is_some());
            if let Some(device) = device {
                let categories = device.peak.category_bytes;
                assert_eq!(categories.total(), device.peak.allocated_bytes, "{label}: who held it adds up");
            }
        }
    }
    assert!(peaks > 40, "{peaks} peaks were compared");
}

#[test]
fn a_spike_is_the_largest_allocation_of_its_peak_and_step() {
    let (_, answer) = ask(&Plan::small().detail(Detail::Full).with_allocation_spike(0, 12, 7 << 30));
    let device = answer.devices.iter().find(|device| device.rank == 0).expect("rank 0");
    let largest = &device.peak.largest[0];
    assert_eq!((largest.bytes, largest.site.step, device.peak.site.step), (7 << 30, Some(12), Some(12)));
    assert_eq!(largest.category, Category::Forward);
    assert!(largest.site.operator.is_some() && !largest.site.stack.is_empty(), "{largest:?}");
}
