//! What must hold for every graph, and small ones worked out by hand.

use gpuscope_trace::{Id, Interval, Ns, Phase, Selection};
use proptest::prelude::*;

use super::couple::Place;
use super::*;
use crate::testing::{Loaded, Sample, trace};

fn graph(loaded: &Loaded, span: std::ops::Range<i64>) -> Graph {
    let everything = Selection::everything();
    let view = loaded.view(&everything);
    let host = |row: &Row| view.trace.class(*row).is_host() && view.trace.span(*row).is_some();
    let host_end =
        view.trace.rows().filter(host).filter_map(|row| Some((view.trace.span(row)?.1, row))).max();
    let window = Window {
        span: Interval::new(Ns(span.start), Ns(span.end)),
        host_end: host_end.filter(|(end, _)| end.0 <= span.end).map(|(end, row)| (row, end)),
    };
    Graph::new(view, &window, &Marks::NONE)
}

fn names_on_path(loaded: &Loaded, coupled: &Coupled) -> Vec<(String, i64)> {
    walk(coupled, 0, coupled.graphs[0].span)
        .iter()
        .map(|stretch| {
            let node = &coupled.graphs[0].nodes[stretch.node as usize];
            let name = loaded.trace.name(node.row);
            let what = match stretch.spent {
                Spent::Running => name.to_owned(),
                Spent::Before(why) => format!("{why:?} {name}"),
                Spent::Unknown => "?".to_owned(),
            };
            (what, stretch.time.len().0)
        })
        .collect()
}

fn parts(pairs: &[(&str, i64)]) -> Vec<(String, i64)> {
    pairs.iter().map(|(name, time)| ((*name).to_owned(), *time)).collect()
}

#[test]
fn a_step_bound_by_the_gpu_is_its_kernels_back_to_the_first_launch() {
    let loaded =
        trace().call(1, 5..8).call(2, 9..12).kernel("a", 7, 20..50, 1).kernel("b", 7, 52..90, 2).build();
    let coupled = Coupled::apart(vec![graph(&loaded, 0..90)]);
    let expected = [("Thread cudaLaunchKernel", 5), ("Launch a", 15), ("a", 30), ("Stream b", 2), ("b", 38)];
    assert_eq!(names_on_path(&loaded, &coupled), parts(&expected));
}

#[test]
fn a_kernel_launched_late_leads_back_to_the_host_and_a_wait_to_the_kernel_before() {
    let us = |time: std::ops::Range<i64>| time.start * 1000..time.end * 1000;
    let loaded = trace()
        .call(1, us(0..2))
        .named_call("cudaDeviceSynchronize", 2, us(3..60))
        .call(3, us(70..72))
        .kernel("a", 7, us(10..55), 1)
        .kernel("b", 7, us(80..100), 3)
        .build();
    let coupled = Coupled::apart(vec![graph(&loaded, us(0..100))]);
    let expected = [
        ("Launch a", 10_000),
        ("a", 45_000),
        ("Synchronisation cudaDeviceSynchronize", 5_000),
        ("Thread cudaLaunchKernel", 10_000),
        ("Launch b", 10_000),
        ("b", 20_000),
    ];
    assert_eq!(names_on_path(&loaded, &coupled), parts(&expected));
    // Were the host not to wait, the call would return after the 5 us that it costs by itself and launch at 18;
    // then the second kernel follows the first.
    let free = replay(&coupled, &Scenario { no_sync: true, ..Scenario::default() });
    let last = coupled.graphs[0].nodes.len() - 1;
    assert_eq!(free[0].end[last], Ns(75_000));
}

#[test]
fn the_backward_thread_runs_while_the_forward_thread_waits() {
    let on_engine = |sample: Sample, category: &str, name: &str, time: std::ops::Range<i64>, corr| {
        sample.event(
            Phase::Complete,
            category,
            name,
            Some(time.start),
            Some(time.end - time.start),
            |record| {
                (record.pid, record.tid) = (Id::Int(1000), Id::Int(2));
                if let Some(corr) = corr {
                    record.set_int(gpuscope_trace::Arg::Correlation, corr);
                }
            },
        )
    };
    let sample = trace().step(1, 0..200).host("cpu_op", "aten::mm", 5..20).call(1, 6..8);
    let name = "autograd::engine::evaluate_function: MmBackward0";
    let sample = on_engine(sample, "cpu_op", name, 40..90, None);
    let sample = on_engine(sample, "cuda_runtime", "cudaLaunchKernel", 80..82, Some(2));
    let loaded = sample
        .host("cpu_op", "aten::add_", 100..150)
        .call(3, 140..142)
        .kernel("forward", 7, 10..15, 1)
        .kernel("backward", 7, 85..88, 2)
        .kernel("update", 7, 145..190, 3)
        .build();
    let coupled = Coupled::apart(vec![graph(&loaded, 0..190)]);
    let path = walk(&coupled, 0, coupled.graphs[0].span);
    let on_engine: Ns = path
        .iter()
        .filter(|stretch| {
            let row = coupled.graphs[0].nodes[stretch.node as usize].row;
            loaded.trace.track(row).thread != loaded.trace.track(0).thread
                && loaded.trace.class(row).is_host()
        })
        .map(|stretch| stretch.time.len())
        .sum();
    assert_eq!(on_engine, Ns(50), "{path:?}");
}

#[test]
fn without_operators_a_thread_waits_while_another_calls() {
    let calls = trace().call(1, 5..8).call(3, 140..142);
    let on_other = [(gpuscope_trace::Arg::Correlation, 2)];
    let loaded = calls
        .on_thread(2, "cuda_runtime", "cudaLaunchKernel", 40..90, &on_other)
        .kernel("forward", 7, 10..15, 1)
        .kernel("backward", 7, 95..98, 2)
        .kernel("update", 7, 145..190, 3)
        .build();
    let coupled = Coupled::apart(vec![graph(&loaded, 0..190)]);
    let path = names_on_path(&loaded, &coupled);
    assert!(path.iter().any(|(what, time)| what == "Thread cudaLaunchKernel" && *time == 50), "{path:?}");
}

#[test]
fn a_collective_leads_over_to_the_rank_that_came_last() {
    let rank = |launched: i64, end: i64| {
        trace()
            .call(1, launched..launched + 2)
            .kernel("ncclDevKernel_AllReduce", 7, launched + 5..end, 1)
            .build()
    };
    let (early, late) = (rank(0, 100), rank(60, 100));
    let mut coupled = Coupled::apart(vec![graph(&early, 0..100), graph(&late, 0..100)]);
    let comm = |graph: &Graph| {
        graph.nodes.iter().position(|node| matches!(node.what, What::Gpu(_))).unwrap() as NodeId
    };
    let places = (0..2).map(|i| Place { graph: i, node: comm(&coupled.graphs[i as usize]) }).collect();
    coupled.meet(places);
    let path = walk(&coupled, 0, coupled.graphs[0].span);
    let by_rank: Vec<(u32, i64)> = path.iter().map(|stretch| (stretch.graph, stretch.time.len().0)).collect();
    assert_eq!(by_rank, [(1, 60), (1, 5), (0, 35)]);
    // Were the transfer free, both would end when the late one arrives.
    let scenario = Scenario { factors: vec![0.0], ..Scenario::default() };
    for graph in &mut coupled.graphs {
        for node in &mut graph.nodes {
            node.marks = u32::from(matches!(node.what, What::Gpu(_)));
        }
    }
    let replayed = replay(&coupled, &scenario);
    let ends: Vec<Ns> = (0..2).map(|i| replayed[i].end[comm(&coupled.graphs[i]) as usize]).collect();
    assert_eq!(ends, [Ns(65), Ns(65)]);
}

#[derive(Clone, Debug)]
struct Work {
    stream: i64,
    called: i64,
    call: i64,
    wait: i64,
    dur: i64,
    name: usize,
}

const CALLS: [&str; 5] = [
    "cudaLaunchKernel",
    "cudaMemcpyAsync",
    "cudaStreamSynchronize",
    "cudaStreamWaitEvent",
    "cudaEventRecord",
];

fn work() -> impl Strategy<Value = Vec<Work>> {
    let one = (0..3i64, 0..200i64, 0..9i64, -5..40i64, 0..30i64, 0..CALLS.len());
    let one = one.prop_map(|(stream, called, call, wait, dur, name)| Work {
        stream,
        called,
        call,
        wait,
        dur,
        name,
    });
    proptest::collection::vec(one, 0..25)
}

proptest! {
    #[test]
    fn the_path_covers_the_window_and_a_replay_gives_back_the_record(work in work(), from in 0..50i64, len in 1..300i64) {
        let mut sample = trace();
        for (i, work) in work.iter().enumerate() {
            let corr = i as i64 + 1;
            sample = sample.named_call(CALLS[work.name], corr, work.called..work.called + work.call);
            if work.name < 2 {
                let start = work.called + work.wait;
                sample = sample.kernel("k", work.stream, start..start + work.dur, corr);
            }
        }
        let loaded = sample.build();
        let coupled = Coupled::apart(vec![graph(&loaded, from..from + len)]);
        let mut now = Ns(from);
        for stretch in walk(&coupled, 0, coupled.graphs[0].span) {
            prop_assert_eq!(stretch.time.start, now);
            prop_assert!(!stretch.time.is_empty());
            now = stretch.time.end;
        }
        prop_assert_eq!(now, Ns(from + len));
        let replayed = &replay(&coupled, &Scenario::default())[0];
        for (id, node) in coupled.graphs[0].nodes.iter().enumerate() {
            prop_assert_eq!((replayed.start[id], replayed.end[id]), (node.start, node.end), "{:?}", node);
        }
        // Nothing gets slower when something gets faster.
        let faster = &replay(&coupled, &Scenario { no_sync: true, no_launch_overhead: true, ..Scenario::default() })[0];
        for id in 0..coupled.graphs[0].nodes.len() {
            prop_assert!(faster.end[id] <= replayed.end[id]);
        }
    }
}
