//! Every chart by name: what it shows, which question draws it, and how to record what it needs.

use Source as From;

/// A picture that can be asked for by itself; its figures bear its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chart {
    pub name: &'static str,
    /// In one line.
    pub shows: &'static str,
    pub source: Source,
}

/// The question whose answer is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Bandwidth,
    Breakdown,
    Collectives,
    Copies,
    CriticalPath,
    /// Takes two runs.
    Diff,
    Idle,
    Kernels,
    Layers,
    Memory,
    Ops,
    Overlap,
    Queue,
    StackDepth,
    Temporal,
    Throughput,
}

const fn chart(name: &'static str, source: Source, shows: &'static str) -> Chart {
    Chart { name, shows, source }
}

/// In the order in which people ask.
pub const CHARTS: &[Chart] = &[
    chart(
        "breakdown",
        From::Breakdown,
        "Computation, exposed communication and copies, idle: bars for each rank",
    ),
    chart("steps", From::Breakdown, "Time and exposed communication of each step on each rank, as heat maps"),
    chart("step_waits", From::Collectives, "How long each rank waits for others in each step, as a heat map"),
    chart(
        "temporal",
        From::Temporal,
        "Share of time spent computing, on something else, idle: bars for each rank",
    ),
    chart("kernel_types", From::Kernels, "Computation, communication, memory and their overlaps, as a pie"),
    chart("bottlenecks", From::Kernels, "The kernels that take most, and mean duration against launches"),
    chart("top_kernels", From::Kernels, "The largest kernels of each kind, as pies for each rank"),
    chart(
        "computation_across_ranks",
        From::Kernels,
        "Mean, least and most of the largest computation on each rank",
    ),
    chart("communication_across_ranks", From::Kernels, "The same of the largest communication"),
    chart("memory_across_ranks", From::Kernels, "The same of the largest copy or set"),
    chart("overlap", From::Overlap, "How much communication hides behind computation: bars for each rank"),
    chart("idle", From::Idle, "What idle GPUs waited for: bars for each device"),
    chart("idle_causes", From::Idle, "What the host did while GPUs idled"),
    chart("queue", From::Queue, "Work launched and not yet begun, over time"),
    chart("bandwidth", From::Bandwidth, "How fast bytes moved over time, by kind of copy"),
    chart("copies", From::Copies, "Bytes being copied over time, by kind; passes and layers below"),
    chart("stack_depth", From::StackDepth, "Depth of Python calls over time, GPU work below"),
    chart("layers", From::Layers, "GPU time of single calls of modules, forward and backward, as box plots"),
    chart(
        "throughput",
        From::Throughput,
        "TFLOP/s of single calls of modules, forward and backward, as box plots",
    ),
    chart("roofline", From::Ops, "Operators below the roof of the GPU, by operations for each byte"),
    chart("memory", From::Memory, "Memory over time, by what it is for"),
    chart("memory_peak", From::Memory, "What lived when most memory was taken"),
    chart("collectives", From::Collectives, "How long each rank waits in which collective, as a heat map"),
    chart("all_to_all_v", From::Collectives, "Who sends how much to whom, as a heat map"),
    chart("critical_path", From::CriticalPath, "What bounds a step, as a waterfall"),
    chart("diff", From::Diff, "From the time of one run to that of another, as a waterfall"),
    chart("diff_kernels", From::Diff, "The kernels that changed most from one run to another"),
];

impl Source {
    /// The command that tells it in numbers.
    pub fn command(self) -> &'static str {
        match self {
            Source::Bandwidth | Source::Copies => "bandwidth",
            Source::Breakdown => "breakdown",
            Source::Collectives => "collectives",
            Source::CriticalPath => "critical-path",
            Source::Diff => "diff",
            Source::Idle => "idle",
            Source::Kernels => "kernels",
            Source::Layers => "layers",
            Source::Memory => "memory",
            Source::Ops => "ops",
            Source::Overlap => "overlap",
            Source::Queue => "queue",
            Source::StackDepth => "stacks",
            Source::Temporal => "temporal",
            Source::Throughput => "throughput",
        }
    }
}

impl Chart {
    /// What has to be recorded for there to be anything to draw.
    pub fn needs(&self) -> &'static str {
        match self.name {
            "steps" => {
                "steps are marked by prof.step() after each iteration, or by annotations and --step-marker"
            }
            "communication_across_ranks" | "overlap" => {
                "communication kernels appear in traces of distributed jobs that use NCCL or RCCL"
            }
            "collectives" | "step_waits" => {
                "waiting shows when the traces of several ranks are given together"
            }
            "all_to_all_v" => {
                "it needs an all-to-all with sizes of its own for every pair of ranks, as of experts"
            }
            "stack_depth" => {
                "Python frames appear with with_stack=True, other host events with ProfilerActivity.CPU"
            }
            "layers" => "modules appear with with_stack=True, or with_modules=True",
            "throughput" => {
                "it needs modules (with_stack=True) and the sizes of tensors (record_shapes=True)"
            }
            "roofline" => {
                "the sizes of tensors appear with record_shapes=True; pages of Nsight Compute need its sections SpeedOfLight \
                 and MemoryWorkloadAnalysis"
            }
            "memory" | "memory_peak" => "allocations appear with profile_memory=True",
            "diff" | "diff_kernels" => "two runs that are alike do not differ",
            "memory_across_ranks" | "bandwidth" | "copies" => {
                "copies appear with ProfilerActivity.CUDA while tensors move between host and device"
            }
            "idle" | "idle_causes" => "a GPU that was never idle has nothing to show; see gpuscope breakdown",
            "queue" | "critical_path" => {
                "launches and the GPU events that they start appear with both ProfilerActivity.CPU and .CUDA"
            }
            _ => "GPU events appear with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]",
        }
    }
}

/// The chart of that name, `-` and `_` alike; otherwise the names nearest to it.
pub fn named(name: &str) -> Result<&'static Chart, Vec<&'static str>> {
    let wanted = name.replace('-', "_").to_lowercase();
    if let Some(chart) = CHARTS.iter().find(|chart| chart.name == wanted) {
        return Ok(chart);
    }
    let mut near: Vec<(usize, &'static str)> = CHARTS
        .iter()
        .map(|chart| (distance(&wanted, chart.name), chart.name))
        .filter(|(distance, name)| name.contains(&wanted) || *distance <= 1 + wanted.len() / 3)
        .collect();
    near.sort_unstable();
    Err(near.into_iter().take(3).map(|(_, name)| name).collect())
}

/// Letters to add, leave out or change.
fn distance(a: &str, b: &str) -> usize {
    // Nobody means a name this much longer than all there are.
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let changed = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_people_write_them() {
        assert_eq!(named("top-kernels").map(|chart| chart.name), Ok("top_kernels"));
        assert_eq!(named("Idle").map(|chart| chart.name), Ok("idle"));
        assert_eq!(named("bottleneck"), Err(vec!["bottlenecks"]));
        assert_eq!(named("qeue"), Err(vec!["queue"]));
        assert!(named("kernel").unwrap_err().contains(&"kernel_types"));
        assert_eq!(named("xyzzy"), Err(vec![]));
    }

    #[test]
    fn no_two_charts_share_a_name() {
        let mut names: Vec<&str> = CHARTS.iter().map(|chart| chart.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CHARTS.len());
    }
}
