//! What Nsight Compute's metrics come to: how long each launch took, how near it ran to what the GPU can do, and where it
//! stands under the roofline.
//!
//! The same quantity has a name of its own on the details page (`Duration`) and on the raw one
//! (`gpu__time_duration.sum`); units are those that were printed. Operations are those of the instructions that ran
//! (an FMA is two), bytes those that the memory of the GPU moved.

use gpuscope_figure::{Axis, Data, Figure, Hue, Panel, Pictured, Series, Unit};
use gpuscope_trace::{Metric, Metrics, Ns};
use serde::Serialize;

use super::CountersAnswer;

/// One launch in a few numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LaunchRow {
    pub id: i64,
    pub kernel: String,
    pub dur_ns: Option<Ns>,
    /// Of what the multiprocessors, and the memory, can do at the most.
    pub compute_pct: Option<f64>,
    pub memory_pct: Option<f64>,
    pub occupancy_pct: Option<f64>,
    pub dram_bytes: Option<i64>,
    pub flops: Option<i64>,
    pub flops_per_byte: Option<f64>,
    pub tflops_per_s: Option<f64>,
}

/// Operations of one instruction, by the metric that counts it.
const OPERATIONS: [(&str, f64); 9] = [
    ("sm__sass_thread_inst_executed_op_fadd_pred_on.sum", 1.0),
    ("sm__sass_thread_inst_executed_op_fmul_pred_on.sum", 1.0),
    ("sm__sass_thread_inst_executed_op_ffma_pred_on.sum", 2.0),
    ("sm__sass_thread_inst_executed_op_dadd_pred_on.sum", 1.0),
    ("sm__sass_thread_inst_executed_op_dmul_pred_on.sum", 1.0),
    ("sm__sass_thread_inst_executed_op_dfma_pred_on.sum", 2.0),
    ("sm__sass_thread_inst_executed_op_hadd_pred_on.sum", 1.0),
    ("sm__sass_thread_inst_executed_op_hmul_pred_on.sum", 1.0),
    ("sm__sass_thread_inst_executed_op_hfma_pred_on.sum", 2.0),
];

pub(super) fn rows(metrics: &Metrics) -> Vec<LaunchRow> {
    let mut of_launch: Vec<Vec<&Metric>> = vec![Vec::new(); metrics.launches.len()];
    for metric in &metrics.metrics {
        if let Some(own) = of_launch.get_mut(metric.launch as usize) {
            own.push(metric);
        }
    }
    let row = |(launch, own): (&gpuscope_trace::MeasuredLaunch, &Vec<&Metric>)| LaunchRow {
        id: launch.id,
        kernel: launch.kernel.clone(),
        ..Measured(own).row()
    };
    metrics.launches.iter().zip(&of_launch).map(row).collect()
}

/// The metrics of one launch.
struct Measured<'m>(&'m [&'m Metric]);

impl Measured<'_> {
    fn row(&self) -> LaunchRow {
        let seconds = self.any(
            &["Duration", "gpu__time_duration.sum", "gpu__time_duration.avg", "gpu__time_duration"],
            seconds,
        );
        // Before 2019 metrics had other names.
        let dram_bytes = self.any(&["dram__bytes.sum", "dram__bytes"], bytes).or_else(|| {
            let read = self.any(&["dram__bytes_read.sum", "dram__read_bytes.sum", "dram__read_bytes"], bytes);
            let written =
                self.any(&["dram__bytes_write.sum", "dram__write_bytes.sum", "dram__write_bytes"], bytes);
            Some(read? + written?)
        });
        let flops = self.flops();
        LaunchRow {
            dur_ns: seconds.map(|seconds| Ns((seconds * 1e9).round() as i64)),
            compute_pct: self.any(
                &["Compute (SM) Throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed"],
                percent,
            ),
            memory_pct: self.any(
                &["Memory Throughput", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"],
                percent,
            ),
            occupancy_pct: self
                .any(&["Achieved Occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"], percent),
            dram_bytes: dram_bytes.map(|bytes| bytes.round() as i64),
            flops: flops.map(|flops| flops.round() as i64),
            flops_per_byte: flops
                .zip(dram_bytes)
                .filter(|(_, bytes)| *bytes > 0.0)
                .map(|(flops, bytes)| flops / bytes),
            tflops_per_s: flops
                .zip(seconds)
                .filter(|(_, time)| *time > 0.0)
                .map(|(flops, time)| flops / time / 1e12),
            ..LaunchRow::default()
        }
    }

    /// The first metric with one of these names whose value has a unit of the wanted sort.
    fn any(&self, names: &[&str], scaled: fn(f64, &str) -> Option<f64>) -> Option<f64> {
        let found = self.0.iter().filter(|metric| names.contains(&metric.name.as_str()));
        found.filter(|metric| is_mean(metric)).find_map(|metric| scaled(metric.value.number()?, &metric.unit))
    }

    /// None where no instructions were counted.
    fn flops(&self) -> Option<f64> {
        let counted = |metric: &&Metric| {
            let value = metric.value.number().filter(|_| is_mean(metric))?;
            let each = OPERATIONS.iter().find(|(name, _)| *name == metric.name).map(|(_, each)| *each);
            Some(value * each.or(is_tensor(&metric.name).then_some(1.0))?)
        };
        self.0.iter().filter_map(counted).reduce(|sum, flops| sum + flops)
    }
}

/// What tensor cores did, as operations already. The same once more for sparse and dense inputs apart is not added.
fn is_tensor(name: &str) -> bool {
    let path = name.strip_prefix("sm__ops_path_tensor_").and_then(|rest| rest.strip_suffix(".sum"));
    path.is_some_and(|path| !path.contains("sparsity"))
}

/// Of a summary over several launches, the mean.
fn is_mean(metric: &Metric) -> bool {
    !matches!(metric.label.as_deref(), Some("minimum" | "maximum"))
}

fn percent(value: f64, unit: &str) -> Option<f64> {
    (unit == "%").then_some(value)
}

/// `nsecond` and `ns` are one.
fn seconds(value: f64, unit: &str) -> Option<f64> {
    let each = match unit.strip_suffix("econd").unwrap_or(unit) {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    };
    Some(value * each)
}

fn bytes(value: f64, unit: &str) -> Option<f64> {
    let each = match unit {
        "byte" => 1.0,
        "Kbyte" => 1e3,
        "Mbyte" => 1e6,
        "Gbyte" => 1e9,
        "Tbyte" => 1e12,
        _ => return None,
    };
    Some(value * each)
}

/// Bars that a person still tells apart.
const MOST_BARS: usize = 20;

impl Pictured for CountersAnswer {
    fn figures(&self) -> Vec<Figure> {
        [roofline(&self.launches), speed_of_light(&self.launches)].into_iter().flatten().collect()
    }
}

/// Where operations and bytes were counted.
fn roofline(launches: &[LaunchRow]) -> Option<Figure> {
    let place = |row: &LaunchRow| {
        Some((row.flops_per_byte?, row.tflops_per_s?)).filter(|(x, y)| *x > 0.0 && *y > 0.0)
    };
    let shown: Vec<(&LaunchRow, (f64, f64))> =
        launches.iter().filter_map(|row| Some((row, place(row)?))).collect();
    let slowest = shown.iter().max_by_key(|(row, _)| row.dur_ns)?.0;
    let points = Data::Points {
        x: shown.iter().map(|(_, (x, _))| *x).collect(),
        y: shown.iter().map(|(_, (_, y))| *y).collect(),
        sizes: shown.iter().map(|(row, _)| row.dur_ns.map_or(0.0, Ns::as_f64)).collect(),
    };
    let notes = shown.iter().map(|(row, _)| format!("{} ({})", row.kernel, row.id)).collect();
    let panel = Panel::new(
        Axis::new("operations for each byte of GPU memory moved", Unit::Ratio).logarithmic(),
        Axis::new("reached", Unit::TeraflopsPerSecond).logarithmic(),
    );
    let panel = panel.with(Series::new("launches", Hue::Compute, points).noted(notes));
    let summary = format!("Most time: {}", slowest.kernel);
    Some(Figure::new("roofline", "Measured launches under the roofline", panel).summary(summary))
}

fn speed_of_light(launches: &[LaunchRow]) -> Option<Figure> {
    let mut shown: Vec<&LaunchRow> =
        launches.iter().filter(|row| row.compute_pct.is_some() || row.memory_pct.is_some()).collect();
    shown.sort_by_key(|row| std::cmp::Reverse(row.dur_ns));
    shown.truncate(MOST_BARS);
    let slowest = shown.first()?;
    let names: Vec<String> =
        shown.iter().map(|row| format!("{} {}", row.id, gpuscope_trace::brief(&row.kernel))).collect();
    let bars = |name: &str, hue, of: fn(&LaunchRow) -> Option<f64>| {
        let values = shown.iter().map(|row| of(row)).collect();
        Series::new(name, hue, Data::Bars { values, reach: Vec::new(), bases: Vec::new() })
    };
    let panel =
        Panel::new(Axis::new("of what the GPU can do", Unit::Percent), Axis::categories("launch", names))
            .with(bars("computation", Hue::Compute, |row| row.compute_pct))
            .with(bars("memory", Hue::Copy, |row| row.memory_pct));
    let pct = |value: Option<f64>| value.map_or("an unknown share".to_owned(), |pct| format!("{pct:.0} %"));
    let summary = format!(
        "{}, which took longest, reaches {} of the GPU's computation and {} of its memory",
        slowest.kernel,
        pct(slowest.compute_pct),
        pct(slowest.memory_pct)
    );
    Some(
        Figure::new("speed_of_light", "Share of the GPU's speed that launches reach", panel).summary(summary),
    )
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::{MeasuredLaunch, MetricValue};

    use super::*;

    fn metric(name: &str, value: f64, unit: &str) -> Metric {
        Metric {
            launch: 0,
            section: String::new(),
            label: None,
            name: name.to_owned(),
            unit: unit.to_owned(),
            value: MetricValue::Number(value),
        }
    }

    fn row(metrics: Vec<Metric>) -> LaunchRow {
        let launch = MeasuredLaunch { kernel: "mm".to_owned(), ..MeasuredLaunch::default() };
        rows(&Metrics { launches: vec![launch], metrics, rules: Vec::new() }).remove(0)
    }

    #[test]
    fn both_pages_tell_the_same_of_a_launch() {
        let details = row(vec![
            metric("Duration", 2.0, "us"),
            metric("Compute (SM) Throughput", 24.0, "%"),
            metric("Memory Throughput", 1.5, "Gbyte/second"),
            metric("Memory Throughput", 22.0, "%"),
        ]);
        let raw = row(vec![
            metric("gpu__time_duration.sum", 2000.0, "nsecond"),
            metric("sm__throughput.avg.pct_of_peak_sustained_elapsed", 24.0, "%"),
            metric("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", 22.0, "%"),
        ]);
        assert_eq!(details, raw);
        assert_eq!((details.dur_ns, details.memory_pct), (Some(Ns(2000)), Some(22.0)));
    }

    #[test]
    fn an_fma_is_two_operations() {
        let row = row(vec![
            metric("sm__sass_thread_inst_executed_op_ffma_pred_on.sum", 1e6, "inst"),
            metric("sm__sass_thread_inst_executed_op_fadd_pred_on.sum", 5e5, "inst"),
            metric("dram__bytes.sum", 250.0, "Kbyte"),
            metric("gpu__time_duration.sum", 1.0, "usecond"),
        ]);
        assert_eq!(
            (row.flops, row.flops_per_byte, row.tflops_per_s),
            (Some(2_500_000), Some(10.0), Some(2.5))
        );
    }
}
