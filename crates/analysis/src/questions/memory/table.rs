//! Memory as tables.

use gpuscope_table::{Table, Tabular, Unit};

use super::category::Label;
use super::{
    DeviceMemory, LiveAllocation, MemoryAnswer, MemoryPoint, OutOfMemory, Site, Timeline, TimelinePoint,
};

impl Tabular for MemoryAnswer {
    fn tables(&self) -> Vec<Table> {
        let mut tables = Vec::new();
        if !self.devices.is_empty() || self.timelines.is_empty() {
            tables.extend([
                devices(&self.devices),
                categories(&self.devices),
                largest(&self.devices),
                operators(&self.devices),
            ]);
        }
        if !self.timelines.is_empty() {
            tables.extend([timelines(&self.timelines), timeline_categories(&self.timelines)]);
        }
        if !self.out_of_memory.is_empty() {
            tables.push(out_of_memory(&self.out_of_memory));
        }
        tables.extend(series(&self.devices));
        tables.extend(timeline_series(&self.timelines));
        tables
    }
}

fn devices(devices: &[DeviceMemory]) -> Table {
    Table::of("devices", "Memory at the peak", devices)
        .int("rank", Unit::None, "The rank", |d| i64::from(d.rank))
        .text("device", "The device", |d| d.device.clone())
        .int("peak_bytes", Unit::Bytes, "The most that was given out", |d| d.peak.allocated_bytes)
        .int("reserved_bytes", Unit::Bytes, "What the allocator held then", |d| d.peak.reserved_bytes)
        .int("fragmentation_bytes", Unit::Bytes, "Held and not given out", |d| d.peak.fragmentation_bytes)
        .int("capacity_bytes", Unit::Bytes, "What the device has", |d| d.capacity_bytes)
        .int("last_bytes", Unit::Bytes, "Given out at the end", |d| d.last_bytes)
        .int("step", Unit::None, "The step of the peak", |d| d.peak.site.step)
        .text("by", BY, |d| by(&d.peak.site))
        .int("allocations", Unit::Count, "Allocations", |d| d.allocations as i64)
        .int("releases", Unit::Count, "Releases", |d| d.releases as i64)
        .int("peak_ns", Unit::TimestampNs, "When most was given out", |d| d.peak.time_ns.0)
        .build()
}

/// Operator, module and the innermost Python frame.
fn by(site: &Site) -> Option<String> {
    let frame = site.stack.iter().rfind(|frame| !frame.starts_with("nn.Module: "));
    let parts = [site.operator.as_ref(), site.module.as_ref(), frame];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

const BY: &str = "What asked for it: operator, module, innermost Python frame";

fn categories(devices: &[DeviceMemory]) -> Table {
    let rows: Vec<_> = devices
        .iter()
        .flat_map(|d| d.peak.category_bytes.iter().map(move |(category, bytes)| (d, category, bytes)))
        .filter(|(_, _, bytes)| *bytes != 0)
        .collect();
    Table::of("categories", "Alive at the peak, by when it was allocated", &rows)
        .int("rank", Unit::None, "The rank", |r| i64::from(r.0.rank))
        .text("device", "The device", |r| r.0.device.clone())
        .text("category", "When it was allocated", |r| r.1.label().to_owned())
        .int("bytes", Unit::Bytes, "Alive at the peak", |r| r.2)
        .build()
}

fn largest(devices: &[DeviceMemory]) -> Table {
    let rows: Vec<(&DeviceMemory, &LiveAllocation)> =
        devices.iter().flat_map(|d| d.peak.largest.iter().map(move |live| (d, live))).collect();
    Table::of("largest", "The largest allocations alive at the peak", &rows)
        .int("rank", Unit::None, "The rank", |r| i64::from(r.0.rank))
        .text("device", "The device", |r| r.0.device.clone())
        .int("bytes", Unit::Bytes, "Its size", |r| r.1.bytes)
        .text("category", "When it was allocated", |r| r.1.category.label().to_owned())
        .int("step", Unit::None, "The step in which it was allocated", |r| r.1.site.step)
        .text("by", BY, |r| by(&r.1.site))
        .int("time_ns", Unit::TimestampNs, "When it was allocated", |r| r.1.time_ns.0)
        .build()
}

fn operators(devices: &[DeviceMemory]) -> Table {
    let rows: Vec<_> = devices.iter().flat_map(|d| d.peak.operators.iter().map(move |op| (d, op))).collect();
    Table::of("operators", "Alive at the peak, by operator", &rows)
        .int("rank", Unit::None, "The rank", |r| i64::from(r.0.rank))
        .text("device", "The device", |r| r.0.device.clone())
        .int("count", Unit::Count, "Allocations", |r| r.1.count as i64)
        .int("bytes", Unit::Bytes, "Alive at the peak", |r| r.1.bytes)
        .text("operator", "The operator that asked for it", |r| r.1.operator.clone())
        .build()
}

fn timelines(timelines: &[Timeline]) -> Table {
    Table::of("timelines", "Memory timeline", timelines)
        .int("rank", Unit::None, "The rank", |t| i64::from(t.rank))
        .int("peak_bytes", Unit::Bytes, "The most at one time", |t| t.peak_bytes)
        .int("final_bytes", Unit::Bytes, "At the end", |t| t.final_bytes.total())
        .int("peak_after_ns", Unit::Ns, "From the beginning to the peak", |t| (t.peak_ns - t.start_ns).0)
        .int("total_ns", Unit::Ns, "From the beginning to the end", |t| (t.end_ns - t.start_ns).0)
        .build()
}

fn timeline_categories(timelines: &[Timeline]) -> Table {
    let rows: Vec<_> = timelines
        .iter()
        .flat_map(|t| {
            let (at_peak, own, last) = (&t.at_peak_bytes, &t.peak_bytes_by_category, &t.final_bytes);
            at_peak
                .iter()
                .zip(own.iter())
                .zip(last.iter())
                .map(move |((a, b), c)| (t.rank, a.0, a.1, b.1, c.1))
        })
        .collect();
    Table::of("timeline_categories", "By what the tensors are for", &rows)
        .int("rank", Unit::None, "The rank", |r| i64::from(r.0))
        .text("category", "What the tensors are for", |r| r.1.label().to_owned())
        .int("at_peak_bytes", Unit::Bytes, "At the peak of all together", |r| r.2)
        .int("own_peak_bytes", Unit::Bytes, "The most of this category at any time", |r| r.3)
        .int("final_bytes", Unit::Bytes, "At the end", |r| r.4)
        .build()
}

fn out_of_memory(requests: &[OutOfMemory]) -> Table {
    Table::of("out_of_memory", "Requests that could not be met", requests)
        .int("rank", Unit::None, "The rank", |o| i64::from(o.rank))
        .text("device", "The device", |o| o.device.clone())
        .int("requested_bytes", Unit::Bytes, "Asked for", |o| o.requested_bytes)
        .int("allocated_bytes", Unit::Bytes, "Given out then", |o| o.allocated_bytes)
        .int("reserved_bytes", Unit::Bytes, "Held by the allocator then", |o| o.reserved_bytes)
        .text("by", BY, |o| by(&o.site))
        .int("time_ns", Unit::TimestampNs, "When", |o| o.time_ns.0)
        .build()
}

fn series(devices: &[DeviceMemory]) -> Option<Table> {
    let points: Vec<(&DeviceMemory, &MemoryPoint)> =
        devices.iter().flat_map(|d| d.series.iter().flatten().map(move |point| (d, point))).collect();
    let table = Table::of("series", "Memory over time", &points)
        .int("rank", Unit::None, "The rank", |p| i64::from(p.0.rank))
        .text("device", "The device", |p| p.0.device.clone())
        .int("time_ns", Unit::TimestampNs, "When it changed", |p| p.1.time_ns.0)
        .int("allocated_bytes", Unit::Bytes, "Given out from then on", |p| p.1.allocated_bytes)
        .int("reserved_bytes", Unit::Bytes, "Held by the allocator from then on", |p| p.1.reserved_bytes);
    (!points.is_empty()).then(|| table.build())
}

fn timeline_series(timelines: &[Timeline]) -> Option<Table> {
    let points: Vec<(u32, &TimelinePoint)> =
        timelines.iter().flat_map(|t| t.series.iter().flatten().map(move |point| (t.rank, point))).collect();
    let table = Table::of("timeline_series", "Memory timeline over time", &points)
        .int("rank", Unit::None, "The rank", |p| i64::from(p.0))
        .int("time_ns", Unit::TimestampNs, "When it changed", |p| p.1.time_ns.0)
        .int("total_bytes", Unit::Bytes, "Taken from then on", |p| p.1.total_bytes);
    (!points.is_empty()).then(|| table.build())
}
