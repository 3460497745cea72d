//! What surrounds the events of a file: device properties, the job's layout, process and thread names, closing marks.

use crate::chrome::{Category, ChromeWriter};
use crate::event::{Name, STREAMS, Stream};
use crate::groups::Groups;
use crate::memory::GPU_MEMORY;
use crate::plan::{BASE_TIME_NS, Detail, Plan};
use crate::rng::mix;

const GPUS_PER_HOST: u32 = 8;

/// The process and thread numbers of one rank.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    pub(crate) pid: i64,
    pub(crate) threads: [i64; 2],
    pub(crate) device: i64,
}

impl Places {
    pub(crate) fn of(rank: u32) -> Places {
        let pid = 4_100 + 17 * i64::from(rank);
        Places { pid, threads: [pid, pid + 803], device: i64::from(rank % GPUS_PER_HOST) }
    }
}

/// The `trace_id` of a rank's file: no other file has it.
pub(crate) fn trace_id(plan: &Plan, rank: u32) -> String {
    format!("{:016X}{:016X}", mix(plan.seed ^ u64::from(rank)), mix(!plan.seed ^ u64::from(rank)))
}

/// Everything before the first event.
pub(crate) fn header(out: &mut ChromeWriter<'_>, plan: &Plan, groups: &Groups, rank: u32) {
    out.text("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [");
    let gpus = if plan.detail == Detail::Tiny { 1 } else { GPUS_PER_HOST };
    for gpu in 0..gpus {
        let id = if gpus == 1 { Places::of(rank).device } else { i64::from(gpu) };
        out.text(if gpu == 0 { "\n    {\n" } else { ",\n    {\n" });
        out.text("      \"id\": ")
            .int(id)
            .text(", \"name\": \"NVIDIA H100 80GB HBM3\", \"totalGlobalMem\": ");
        out.int(GPU_MEMORY).text(
            ",\n      \"computeMajor\": 9, \"computeMinor\": 0,\n      \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048,\n      \"regsPerBlock\": 65536, \"warpSize\": 32,\n      \"sharedMemPerBlock\": 49152, \"numSms\": 132\n    , \"regsPerMultiprocessor\": 65536, \"sharedMemPerBlockOptin\": 232448, \"sharedMemPerMultiprocessor\": 233472\n    }",
        );
    }
    out.text(
        "\n  ],\n  \"cupti_version\": 24, \"cuda_runtime_version\": 12060, \"cuda_driver_version\": 12080,\n",
    );
    distributed_info(out, plan, groups, rank);
    if plan.detail == Detail::Full {
        out.text("  \"record_shapes\": 1,\n  \"with_stack\": 1,\n  \"profile_memory\": 1,\n  \"with_modules\": 1,\n");
    } else {
        out.text("  \"record_shapes\": 1,\n");
    }
    let id = trace_id(plan, rank);
    out.text("  \"host_name\": \"node-").int(i64::from(rank / GPUS_PER_HOST)).text("\",\n");
    out.text("  \"trace_id\": \"").text(&id).text("\",\n  \"displayTimeUnit\": \"ms\",\n");
    out.text("  \"baseTimeNanoseconds\": ").int(BASE_TIME_NS).text(",\n  \"traceEvents\": [");
}

fn distributed_info(out: &mut ChromeWriter<'_>, plan: &Plan, groups: &Groups, rank: u32) {
    out.text("  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": ").int(i64::from(rank));
    out.text(", \"world_size\": ").int(i64::from(plan.world()));
    let mine: Vec<_> = groups.all.iter().filter(|group| group.ranks.contains(&rank)).collect();
    out.text(", \"pg_count\": ").int(mine.len() as i64).text(", \"pg_config\": [");
    for (index, group) in mine.iter().enumerate() {
        out.text(if index == 0 { "{\"pg_name\": \"" } else { ", {\"pg_name\": \"" }).text(&group.name);
        out.text("\", \"pg_desc\": \"").text(group.description);
        out.text("\", \"backend_config\": \"cuda:nccl\", \"pg_size\": ").int(group.ranks.len() as i64);
        out.text(&format!(", \"ranks\": {:?}}}", group.ranks));
    }
    out.text("], \"nccl_version\": \"2.26.2\"},\n");
}

/// Names of processes and threads, the profiler's own span and marks, and the end of the file.
pub(crate) fn footer(out: &mut ChromeWriter<'_>, plan: &Plan, rank: u32, (start, end): (i64, i64)) {
    let places = Places::of(rank);
    let full = plan.detail != Detail::Tiny;
    let label = format!("\"labels\": \"GPU {}\"", places.device);
    metadata(out, "process_name", (places.pid, 0), start, "\"name\": \"python3\"");
    metadata(out, "process_labels", (places.pid, 0), start, "\"labels\": \"CPU\"");
    metadata(out, "process_name", (places.device, 0), start, "\"name\": \"python3\"");
    metadata(out, "process_labels", (places.device, 0), start, &label);
    if full {
        metadata(
            out,
            "process_sort_index",
            (places.pid, 0),
            start,
            &format!("\"sort_index\": {}", places.pid),
        );
        let order = 5_000_000 + places.device;
        metadata(out, "process_sort_index", (places.device, 0), start, &format!("\"sort_index\": {order}"));
        let used = |stream: &Stream| *stream != Stream::TensorParallel || plan.tensor_size() > 1;
        for stream in STREAMS.into_iter().filter(used) {
            let (place, id) = ((places.device, i64::from(stream.id())), stream.id());
            metadata(out, "thread_name", place, start, &format!("\"name\": \"stream {id} \""));
            metadata(out, "thread_sort_index", place, start, &format!("\"sort_index\": {id}"));
        }
        for (tid, role) in places.threads.iter().zip(["python3", "pt_autograd_0"]) {
            metadata(
                out,
                "thread_name",
                (places.pid, *tid),
                start,
                &format!("\"name\": \"thread {tid} ({role})\""),
            );
            metadata(out, "thread_sort_index", (places.pid, *tid), start, &format!("\"sort_index\": {tid}"));
        }
    }
    profiler_span(out, start, end);
    out.text("\n  ],\n  \"traceName\": \"rank-").int(i64::from(rank)).text(".json\"\n}\n");
}

fn metadata(out: &mut ChromeWriter<'_>, name: &'static str, place: (i64, i64), at: i64, args: &str) {
    out.begin(Category::None)
        .text("\n    \"name\": \"")
        .name(Name::plain(name))
        .text("\", \"ph\": \"M\", \"ts\": ");
    out.time(at).text(", \"pid\": ").int(place.0).text(", \"tid\": ").int(place.1);
    out.text(",\n    \"args\": {\n      ").text(args).end_args();
}

fn profiler_span(out: &mut ChromeWriter<'_>, start: i64, end: i64) {
    out.begin(Category::Trace).text("\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": ").time(start);
    out.text(", \"dur\": ").time(end - start).text(
        ",\n    \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\",\n    \"name\": \"PyTorch Profiler (0)\",\n    \"args\": {\n      \"Op count\": 0",
    );
    out.end_args();
    out.begin(Category::None)
        .text("\n    \"name\": \"process_sort_index\", \"ph\": \"M\", \"ts\": ")
        .time(start);
    out.text(",\n    \"pid\": \"Spans\", \"tid\": 0,\n    \"args\": {\n      \"sort_index\": 536870912")
        .end_args();
    out.begin(Category::None).text(
        "\n    \"name\": \"Iteration Start: PyTorch Profiler\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"Traces\", \"tid\": \"Trace PyTorch Profiler\", \"ts\": ",
    );
    out.time(start).text("\n  }");
    out.begin(Category::None)
        .text("\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"\", \"tid\": \"\", \"ts\": ");
    out.time(end).text("\n  }");
}
