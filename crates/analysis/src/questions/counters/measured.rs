//! What Nsight Compute measured of single launches, beside what a trace of the same program tells of them.
//!
//! A launch that was measured is replayed on its own, so its times are not those of the program. Joined by the kernel's name
//! and shape, the first measured launch of a kernel to the first in the trace and so on, it is known what the program spends
//! on it.

use gpuscope_trace::{Arg, MetricValue, Metrics, Ns, View};
use rustc_hash::FxHashMap;
use serde::{Serialize, Serializer};

/// One value of one launch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricRow {
    /// As Nsight Compute numbers launches.
    pub id: i64,
    pub kernel: String,
    pub section: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub metric: String,
    pub unit: String,
    #[serde(serialize_with = "plain")]
    pub value: MetricValue,
}

fn plain<S: Serializer>(value: &MetricValue, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        MetricValue::Int(value) => serializer.serialize_i64(*value),
        MetricValue::Number(value) => serializer.serialize_f64(*value),
        MetricValue::Text(text) => serializer.serialize_str(text),
        MetricValue::Absent => serializer.serialize_none(),
    }
}

/// What a rule of Nsight Compute says of a launch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleRow {
    pub id: i64,
    pub kernel: String,
    pub section: String,
    pub rule: String,
    /// `OPT`: something to do; `INF`: to know.
    #[serde(rename = "type")]
    pub sort: String,
    pub description: String,
    /// Of the kernel, as the rule estimates it.
    pub estimated_speedup_pct: Option<f64>,
}

/// A launch that was measured, as far as the trace beside it has it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JoinedRow {
    pub id: i64,
    pub rank: u32,
    pub kernel: String,
    /// Launches of this kernel with this shape in the trace, and their time.
    pub launches: u64,
    pub sum_ns: Ns,
    /// Of the GPU time of the rank.
    pub pct: f64,
    /// The launch that was measured: when it began in the trace, and what it took there.
    pub start_ns: Option<Ns>,
    pub dur_ns: Option<Ns>,
    /// What the rules estimate could be saved of it, at most, and of all its launches.
    pub estimated_speedup_pct: Option<f64>,
    pub estimated_gain_ns: Option<Ns>,
}

/// Name without arguments, grid and block.
type Shape = (String, Option<[i64; 3]>, Option<[i64; 3]>);

/// More launches of one kernel are never measured one by one.
const MOST: usize = 1024;

/// What a trace tells of the launches of one kernel with one shape.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Launches {
    count: u64,
    sum: Ns,
    first: Vec<(Ns, Ns)>,
}

/// The kernels of a rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Launched {
    rank: u32,
    all: FxHashMap<Shape, Launches>,
    busy: Ns,
}

impl Launched {
    pub(super) fn of(rank: u32, view: View<'_>) -> Launched {
        let mut launched = Launched { rank, ..Launched::default() };
        let text = |row, arg| view.trace.args.text(row, arg).map(|text| view.trace.strings.get(text));
        let mut shapes: FxHashMap<_, Shape> = FxHashMap::default();
        for event in view.gpu() {
            launched.busy += event.dur();
            let args = [Arg::Grid, Arg::Block].map(|arg| view.trace.args.text(event.row, arg));
            let key = (view.trace.name_id(event.row), args);
            let shape = shapes.entry(key).or_insert_with(|| {
                let size = |arg| text(event.row, arg).and_then(size);
                (bare(view.trace.name(event.row)).to_owned(), size(Arg::Grid), size(Arg::Block))
            });
            if !launched.all.contains_key(shape) {
                launched.all.insert(shape.clone(), Launches::default());
            }
            if let Some(launches) = launched.all.get_mut(shape) {
                launches.count += 1;
                launches.sum += event.dur();
                if launches.first.len() < MOST {
                    launches.first.push((event.start, event.dur()));
                }
            }
        }
        launched
    }
}

/// `[24, 1, 1]`
fn size(text: &str) -> Option<[i64; 3]> {
    let mut sides =
        text.strip_prefix('[')?.strip_suffix(']')?.split(',').map(|side| side.trim().parse().ok());
    Some([sides.next()??, sides.next()??, sides.next()??])
}

/// A kernel's own name: without what it returns, namespaces, template arguments and parameters, which profilers write
/// differently.
fn bare(name: &str) -> &str {
    let name = name.strip_suffix(".kd").unwrap_or(name);
    // `(anonymous namespace)::` and `(int)32` are no parameters.
    let end = name
        .char_indices()
        .find(|(at, c)| *c == '<' || (*c == '(' && *at > 0 && !name[*at..].starts_with("(anonymous")))
        .map_or(name.len(), |(at, _)| at);
    let whole = name[..end].trim_end();
    let begins = whole.rfind(|c: char| c == ':' || c.is_whitespace()).map_or(0, |at| at + 1);
    &whole[begins..]
}

pub(super) fn rows(metrics: &Metrics) -> (Vec<MetricRow>, Vec<RuleRow>) {
    let launch = |launch: u32| metrics.launches.get(launch as usize).cloned().unwrap_or_default();
    let metric = |metric: &gpuscope_trace::Metric| {
        let of = launch(metric.launch);
        MetricRow {
            id: of.id,
            kernel: of.kernel,
            section: metric.section.clone(),
            label: metric.label.clone(),
            metric: metric.name.clone(),
            unit: metric.unit.clone(),
            value: metric.value.clone(),
        }
    };
    let rule = |rule: &gpuscope_trace::MetricRule| {
        let of = launch(rule.launch);
        RuleRow {
            id: of.id,
            kernel: of.kernel,
            section: rule.section.clone(),
            rule: rule.rule.clone(),
            sort: rule.sort.clone(),
            description: rule.description.clone(),
            estimated_speedup_pct: rule.estimated_speedup_pct,
        }
    };
    (metrics.metrics.iter().map(metric).collect(), metrics.rules.iter().map(rule).collect())
}

/// The measured launches beside those of each rank's trace.
pub(super) fn joined(measured: &[Metrics], traces: &[Launched]) -> Vec<JoinedRow> {
    let mut rows = Vec::new();
    for trace in traces {
        let mut seen: FxHashMap<Shape, usize> = FxHashMap::default();
        for metrics in measured {
            for (number, launch) in metrics.launches.iter().enumerate() {
                let shape = (bare(&launch.kernel).to_owned(), launch.grid, launch.block);
                let Some(launches) = trace.all.get(&shape) else { continue };
                let nth = seen.entry(shape).or_default();
                let own = launches.first.get(*nth).copied();
                *nth += 1;
                let rules = metrics.rules.iter().filter(|rule| rule.launch as usize == number);
                let speedup = rules.filter_map(|rule| rule.estimated_speedup_pct).reduce(f64::max);
                rows.push(JoinedRow {
                    id: launch.id,
                    rank: trace.rank,
                    kernel: launch.kernel.clone(),
                    launches: launches.count,
                    sum_ns: launches.sum,
                    pct: launches.sum.pct_of(trace.busy),
                    start_ns: own.map(|(start, _)| start),
                    dur_ns: own.map(|(_, dur)| dur),
                    estimated_speedup_pct: speedup,
                    estimated_gain_ns: speedup
                        .map(|pct| Ns((launches.sum.as_f64() * pct.clamp(0.0, 100.0) / 100.0) as i64)),
                });
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::MeasuredLaunch;

    use super::*;

    #[test]
    fn kernels_are_one_however_they_are_written() {
        for name in [
            "void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<float>>(int, T2)",
            "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int)",
            "vectorized_elementwise_kernel",
        ] {
            assert_eq!(bare(name), "vectorized_elementwise_kernel");
        }
        assert_eq!(bare("basic(int, const float *)"), "basic");
        assert_eq!(
            bare("void (anonymous namespace)::softmax_warp_forward<float>(float*)"),
            "softmax_warp_forward"
        );
        assert_eq!(bare("gemm_kernel.kd"), "gemm_kernel");
    }

    #[test]
    fn the_nth_that_was_measured_is_the_nth_in_the_trace() {
        let shape = ("mm".to_owned(), Some([2, 1, 1]), Some([32, 1, 1]));
        let launches = Launches {
            count: 3,
            sum: Ns(60),
            first: vec![(Ns(0), Ns(10)), (Ns(20), Ns(20)), (Ns(50), Ns(30))],
        };
        let trace = Launched { rank: 1, all: [(shape, launches)].into_iter().collect(), busy: Ns(120) };
        let launch = |id, grid| MeasuredLaunch {
            id,
            kernel: "void mm<float>(float*)".to_owned(),
            grid: Some([grid, 1, 1]),
            block: Some([32, 1, 1]),
            ..MeasuredLaunch::default()
        };
        let rule = gpuscope_trace::MetricRule {
            launch: 1,
            section: String::new(),
            rule: "Tail".to_owned(),
            sort: "OPT".to_owned(),
            description: String::new(),
            estimated_speedup_pct: Some(50.0),
        };
        let metrics = Metrics {
            launches: vec![launch(0, 2), launch(4, 2), launch(5, 9)],
            rules: vec![rule],
            metrics: vec![],
        };
        let rows = joined(&[metrics], &[trace]);
        let told: Vec<_> = rows.iter().map(|row| (row.id, row.start_ns, row.estimated_gain_ns)).collect();
        assert_eq!(told, [(0, Some(Ns(0)), None), (4, Some(Ns(20)), Some(Ns(30)))]);
        assert_eq!((rows[0].launches, rows[0].pct), (3, 50.0));
    }
}
