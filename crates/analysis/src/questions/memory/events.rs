//! The `[memory]` events of a trace: what each device's allocator had given out, and who held it at the peak.

use std::collections::BTreeMap;

use gpuscope_trace::{Arg, Group, Ns, Row, View};
use rustc_hash::FxHashMap;

use super::{
    ByCategory, Category, DeviceMemory, LiveAllocation, MemoryPoint, OperatorMemory, OutOfMemory, Peak, Site,
};
use crate::model::doing;

/// How many of the allocations alive at the peak are listed.
const LARGEST: usize = 10;

/// One event of an allocator.
struct Change {
    row: Row,
    time: Ns,
    /// Below zero for a release.
    bytes: i64,
    address: Option<i64>,
    allocated: i64,
    reserved: Option<i64>,
}

/// torch's type and number of a device; the host comes last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Device {
    is_host: bool,
    kind: i64,
    id: i64,
}

impl Device {
    fn label(self) -> String {
        let kind = match self.kind {
            0 => return "cpu".to_owned(),
            1 => "cuda",
            6 => "hip",
            9 => "xla",
            12 => "xpu",
            13 => "mps",
            15 => "hpu",
            19 => "mtia",
            20 => "privateuseone",
            other => return format!("type{other}:{}", self.id),
        };
        format!("{kind}:{}", self.id)
    }
}

pub(super) fn of(rank: u32, view: View<'_>, series: bool) -> (Vec<DeviceMemory>, Vec<OutOfMemory>) {
    let mut by_device: BTreeMap<Device, Vec<Change>> = BTreeMap::new();
    let mut out_of_memory = Vec::new();
    for (device, change) in changes(view) {
        match view.trace.name(change.row) {
            "[memory]" => by_device.entry(device).or_default().push(change),
            "[OutOfMemory]" if view.selection.has(change.row) => out_of_memory.push(OutOfMemory {
                rank,
                device: device.label(),
                time_ns: change.time,
                requested_bytes: change.bytes,
                allocated_bytes: Some(change.allocated),
                reserved_bytes: change.reserved,
                site: site(view, change.row, &around(view, &change)),
            }),
            _ => {}
        }
    }
    let device = |(device, mut changes): (Device, Vec<Change>)| {
        // Stable: events of one moment stay in file order.
        changes.sort_by_key(|change| change.time);
        of_device(rank, view, device, &changes, series)
    };
    (by_device.into_iter().filter_map(device).collect(), out_of_memory)
}

/// Every event with an allocator's figures, in file order.
fn changes(view: View<'_>) -> impl Iterator<Item = (Device, Change)> {
    let args = &view.trace.args;
    let column = |arg: Arg| args.column(arg);
    let (bytes, address) = (column(Arg::AllocationBytes), column(Arg::Address));
    let (allocated, reserved) = (column(Arg::TotalAllocated), column(Arg::TotalReserved));
    let (kind, id) = (column(Arg::DeviceType), column(Arg::DeviceId));
    let rows = args.table(Group::Memory).rows().iter().enumerate();
    rows.filter_map(move |(i, &row)| {
        let kind = kind.get(i).unwrap_or(0);
        let device = Device { is_host: kind == 0, kind, id: id.get(i).unwrap_or(0) };
        let change = Change {
            row,
            time: view.trace.start(row)?,
            bytes: bytes.get(i)?,
            address: address.get(i),
            allocated: allocated.get(i)?,
            reserved: reserved.get(i),
        };
        Some((device, change))
    })
}

fn of_device(
    rank: u32,
    view: View<'_>,
    device: Device,
    changes: &[Change],
    series: bool,
) -> Option<DeviceMemory> {
    let selected = || changes.iter().enumerate().filter(|(_, change)| view.selection.has(change.row));
    // Of equal ones the first.
    let (at, highest) = selected().reduce(|a, b| if b.1.allocated > a.1.allocated { b } else { a })?;
    let (_, first) = selected().next()?;
    let (_, last) = selected().next_back()?;
    let point = |(_, change): (usize, &Change)| MemoryPoint {
        time_ns: change.time,
        allocated_bytes: change.allocated,
        reserved_bytes: change.reserved,
    };
    let metadata = view.trace.metadata.devices.iter().find(|known| !device.is_host && known.id == device.id);
    Some(DeviceMemory {
        rank,
        device: device.label(),
        capacity_bytes: metadata.and_then(|known| known.memory_bytes),
        allocations: selected().filter(|(_, change)| change.bytes > 0).count() as u64,
        releases: selected().filter(|(_, change)| change.bytes < 0).count() as u64,
        first_bytes: first.allocated,
        last_bytes: last.allocated,
        peak_reserved_bytes: selected().filter_map(|(_, change)| change.reserved).max(),
        peak: peak(view, highest, &alive(&changes[..=at])),
        series: series.then(|| selected().map(point).collect()),
    })
}

/// The allocations among these that none of the later ones releases.
fn alive(changes: &[Change]) -> Vec<&Change> {
    let mut by_address: FxHashMap<i64, usize> = FxHashMap::default();
    let mut is_alive = vec![false; changes.len()];
    for (i, change) in changes.iter().enumerate() {
        let Some(address) = change.address else { continue };
        // An address given out again was released unseen.
        if let Some(before) = by_address.remove(&address) {
            is_alive[before] = false;
        }
        if change.bytes > 0 {
            by_address.insert(address, i);
            is_alive[i] = true;
        }
    }
    changes.iter().zip(is_alive).filter(|(_, alive)| *alive).map(|(change, _)| change).collect()
}

fn peak(view: View<'_>, highest: &Change, alive: &[&Change]) -> Peak {
    let mut categories = ByCategory::new(Category::ALL);
    let mut operators: FxHashMap<Option<&str>, (u64, i64)> = FxHashMap::default();
    for change in alive {
        let around = around(view, change);
        let of_category = &mut categories.bytes_mut()[Category::of(view, &around) as usize];
        *of_category = of_category.saturating_add(change.bytes);
        let operator = operator(view, &around);
        let (count, bytes) = operators.entry(operator).or_default();
        (*count, *bytes) = (*count + 1, bytes.saturating_add(change.bytes));
    }
    categories.bytes_mut()[Category::BeforeRecording as usize] =
        highest.allocated.saturating_sub(categories.total()).max(0);
    let mut operators: Vec<OperatorMemory> = operators
        .into_iter()
        .map(|(operator, (count, bytes))| OperatorMemory {
            operator: operator.map(str::to_owned),
            count,
            bytes,
        })
        .collect();
    operators.sort_by(|a, b| (b.bytes, &a.operator).cmp(&(a.bytes, &b.operator)));
    let mut largest = alive.to_vec();
    largest.sort_by_key(|change| std::cmp::Reverse(change.bytes));
    let listed = |change: &&Change| {
        let around = around(view, change);
        LiveAllocation {
            bytes: change.bytes,
            time_ns: change.time,
            category: Category::of(view, &around),
            site: site(view, change.row, &around),
        }
    };
    Peak {
        time_ns: highest.time,
        allocated_bytes: highest.allocated,
        reserved_bytes: highest.reserved,
        fragmentation_bytes: highest.reserved.map(|reserved| reserved.saturating_sub(highest.allocated)),
        site: site(view, highest.row, &around(view, highest)),
        category_bytes: categories,
        operators,
        largest: largest.iter().take(LARGEST).map(listed).collect(),
    }
}

fn around(view: View<'_>, change: &Change) -> Vec<Row> {
    doing::around(view, view.trace.track(change.row).thread, change.time)
}

/// The innermost operator that does more than allocate: that everything comes from `aten::empty` says nothing.
fn operator<'a>(view: View<'a>, around: &[Row]) -> Option<&'a str> {
    let is_allocation = |name: &str| name.starts_with("aten::empty") || name == "aten::resize_";
    let mut operators = doing::operators(view, around).peekable();
    let innermost = operators.peek().copied();
    operators.find(|name| !is_allocation(name)).or(innermost)
}

fn site(view: View<'_>, row: Row, around: &[Row]) -> Site {
    let steps = view.steps();
    Site {
        operator: operator(view, around).map(str::to_owned),
        module: doing::module(view, around),
        stack: doing::python_stack(view, around),
        step: view.trace.start(row).and_then(|time| steps.at(time)).map(|i| steps[i].number),
    }
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::{Phase, StrId};

    use super::*;
    use crate::Memory;
    use crate::testing::{Sample, trace};

    fn memory(sample: Sample, time: i64, bytes: i64, address: i64, allocated: i64) -> Sample {
        sample.event(Phase::Instant, "cpu_instant_event", "[memory]", Some(time), None, |record| {
            for (arg, value) in [
                (Arg::AllocationBytes, bytes),
                (Arg::Address, address),
                (Arg::TotalAllocated, allocated),
                (Arg::TotalReserved, 1000),
                (Arg::DeviceType, 1),
            ] {
                record.set_int(arg, value);
            }
        })
    }

    fn training() -> Sample {
        let sample = trace()
            .step(4, 0..1000)
            .host("python_function", "train.py(3): main", 0..900)
            .host("python_function", "nn.Module: Linear_0", 10..200)
            .host("cpu_op", "aten::linear", 20..100)
            .host("cpu_op", "aten::empty", 30..60)
            .host("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 300..400)
            .host("cpu_op", "aten::mm", 310..390)
            .host("user_annotation", "Optimizer.step#SGD.step", 500..600);
        let sample = memory(sample, 40, 100, 1, 600);
        let sample = memory(sample, 50, 10, 2, 610);
        let sample = memory(sample, 90, -10, 2, 600);
        let sample = memory(sample, 320, 250, 3, 850);
        let sample = memory(sample, 350, -100, 1, 750);
        memory(sample, 550, 50, 4, 800)
    }

    #[test]
    fn the_peak_says_who_held_the_memory() {
        let answer = training().build().ask(&Memory { series: true });
        let [device] = &answer.devices[..] else { panic!("one device") };
        assert_eq!((device.device.as_str(), device.allocations, device.releases), ("cuda:0", 4, 2));
        assert_eq!((device.first_bytes, device.last_bytes), (600, 800));
        let peak = &device.peak;
        assert_eq!((peak.time_ns, peak.allocated_bytes, peak.fragmentation_bytes), (Ns(320), 850, Some(150)));
        assert_eq!(peak.site.operator.as_deref(), Some("aten::mm"));
        assert_eq!(
            (peak.site.step, peak.site.stack.as_slice()),
            (Some(4), &["train.py(3): main".to_owned()][..])
        );
        let categories: Vec<_> = peak.category_bytes.iter().filter(|(_, bytes)| *bytes > 0).collect();
        assert_eq!(
            categories,
            [(Category::BeforeRecording, 500), (Category::Forward, 100), (Category::Backward, 250)]
        );
        let largest: Vec<_> = peak
            .largest
            .iter()
            .map(|a| (a.bytes, a.site.operator.as_deref(), a.site.module.as_deref()))
            .collect();
        assert_eq!(largest, [(250, Some("aten::mm"), None), (100, Some("aten::linear"), Some("Linear_0"))]);
        let operators: Vec<_> = peak.operators.iter().map(|o| (o.operator.as_deref(), o.bytes)).collect();
        assert_eq!(operators, [(Some("aten::mm"), 250), (Some("aten::linear"), 100)]);
        assert_eq!(device.series.as_ref().unwrap().len(), 6);
    }

    #[test]
    fn a_selection_moves_the_peak_but_not_what_was_alive_then() {
        let criteria = gpuscope_trace::Criteria { from: Some(Ns(500)), ..Default::default() };
        let answer = training().build().ask_about(&criteria, &Memory::default());
        let peak = &answer.devices[0].peak;
        assert_eq!((peak.time_ns, peak.allocated_bytes), (Ns(550), 800));
        assert_eq!(peak.largest.iter().map(|a| a.bytes).collect::<Vec<_>>(), [250, 50]);
        assert_eq!(peak.largest[1].category, Category::Optimizer);
        assert_eq!(peak.category_bytes.total(), 800);
    }

    #[test]
    fn a_call_stack_in_text_serves_where_no_frames_were_recorded() {
        let mut stack = StrId::EMPTY;
        let sample =
            trace().texts(|strings| stack = strings.intern(b"linear.py(1): forward;train.py(9): main"));
        let sample = sample.event(Phase::Complete, "cpu_op", "aten::mm", Some(0), Some(100), |record| {
            record.set_text(Arg::CallStack, stack);
        });
        let answer = memory(sample, 10, 5, 1, 5).build().ask(&Memory::default());
        assert_eq!(answer.devices[0].peak.site.stack, ["train.py(9): main", "linear.py(1): forward"]);
    }

    #[test]
    fn hostile_figures_give_an_answer() {
        let sample = memory(trace(), i64::MAX / 4, i64::MAX, 1, i64::MIN + 1);
        let sample = memory(sample, 5, i64::MAX, 1, i64::MAX);
        let sample = memory(sample, 6, i64::MIN + 1, 9, i64::MAX);
        let answer = sample.build().ask(&Memory { series: true });
        assert_eq!(answer.devices[0].peak.allocated_bytes, i64::MAX);
        assert!(trace().build().ask(&Memory::default()).is_empty());
    }
}
