//! The timelines could have happened: nothing runs before it was launched, streams keep their order, calls nest, and
//! the members of a collective end together.

use std::collections::BTreeMap;

use gpuscope_testkit::truth;

use crate::exactness::{files, plans};
use crate::reread::{Span, reread};

#[test]
fn gpu_work_follows_its_launch_and_streams_keep_their_order() {
    for (label, file) in files() {
        let launches = file.launches();
        let mut streams: BTreeMap<i64, Vec<&Span>> = BTreeMap::new();
        for span in file.spans().iter().filter(|span| span.is_gpu()) {
            if let Some((start, end)) = span.correlation().and_then(|id| launches.get(&id)) {
                let held = span.name.contains("Pageable") && span.start > *start && span.end < *end;
                assert!(span.start >= *end || held, "{label}: {} before its launch", span.name);
            }
            assert_eq!(span.args["stream"].as_i64(), Some(span.tid));
            assert_eq!(span.args["device"].as_i64(), Some(span.pid));
            streams.entry(span.tid).or_default().push(span);
        }
        let expected = match *label {
            "unpinned" => 2,
            label if label.contains("tensor") => 4,
            _ => 3,
        };
        assert_eq!(streams.len(), expected, "{label}");
        for spans in streams.values_mut() {
            spans.sort_by_key(|span| span.start);
            assert!(spans.windows(2).all(|pair| pair[0].end <= pair[1].start), "{label}");
        }
    }
}

#[test]
fn host_spans_nest() {
    for (label, file) in files() {
        let mut threads: BTreeMap<i64, Vec<&Span>> = BTreeMap::new();
        for span in file.spans() {
            if matches!(
                span.category.as_str(),
                "cpu_op" | "user_annotation" | "python_function" | "cuda_runtime"
            ) {
                threads.entry(span.tid).or_default().push(span);
            }
        }
        assert_eq!(threads.len(), 2, "{label}");
        for spans in threads.values_mut() {
            spans.sort_by_key(|span| (span.start, -span.end));
            let mut open: Vec<i64> = Vec::new();
            for span in spans.iter() {
                open.retain(|end| *end > span.start);
                assert!(open.iter().all(|end| *end >= span.end), "{label}: {} crosses its parent", span.name);
                open.push(span.end);
            }
        }
    }
}

/// Group, point-to-point peers and number: what the members of a collective agree on.
type Meeting = (String, Option<(u32, u32)>, u64);

#[test]
fn the_members_of_a_collective_end_together() {
    for (label, plan) in plans() {
        let job = truth(&plan);
        let mut ends: BTreeMap<Meeting, Vec<i64>> = BTreeMap::new();
        for rank in &job.ranks {
            for row in &rank.collectives {
                ends.entry((row.group.clone(), row.peers, row.seq)).or_default().push(row.true_end_ns);
                assert!(row.true_wait_ns >= 0 && row.true_end_ns > row.last_arrival_true_ns, "{label}");
            }
        }
        for (key, ends) in &ends {
            assert!(ends.iter().all(|end| *end == ends[0]), "{label}: {key:?}");
        }
        for collective in &job.collectives {
            let expected = if collective.peers.is_some() { 2 } else { collective.members.len() };
            assert_eq!(collective.members.len(), expected, "{label}");
        }
        assert_eq!(ends.len(), job.collectives.len(), "{label}");
    }
}

#[test]
fn flows_have_two_ends_and_forward_finds_backward() {
    let file = reread(&gpuscope_testkit::Plan::small(), 0);
    for category in ["ac2g", "fwdbwd"] {
        let ids = |phase: &str| {
            let mut ids: Vec<i64> = file
                .elements()
                .iter()
                .filter(|element| element["cat"] == category && element["ph"] == phase)
                .filter_map(|element| element["id"].as_i64())
                .collect();
            ids.sort_unstable();
            ids
        };
        assert!(!ids("s").is_empty());
        assert_eq!(ids("s"), ids("f"), "{category}");
    }
    let sequence = |backward: bool| {
        let mut numbers: Vec<i64> = file
            .spans()
            .iter()
            .filter(|span| span.category == "cpu_op" && span.args["Fwd thread id"] == i64::from(backward))
            .filter_map(|span| span.args["Sequence number"].as_i64())
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    assert_eq!(sequence(false), sequence(true));
}

#[test]
fn python_frames_know_their_callers() {
    let file = reread(&gpuscope_testkit::Plan::small(), 0);
    let frames: BTreeMap<i64, &Span> = file
        .spans()
        .iter()
        .filter(|span| span.category == "python_function")
        .map(|span| (span.args["Python id"].as_i64().expect("an id"), span))
        .collect();
    let mut with_parent = 0;
    for frame in frames.values() {
        if let Some(parent) = frame.args["Python parent id"].as_i64() {
            let parent = frames[&parent];
            assert!(parent.start <= frame.start && frame.end <= parent.end);
            with_parent += 1;
        }
    }
    assert!(with_parent > 50);
    assert!(frames.values().any(|frame| frame.name == "nn.Module: Linear_3"));
}

#[test]
fn the_optimizer_runs_after_the_gradients_were_reduced() {
    for (label, file) in files() {
        let launches = file.launches();
        let inside = |span: &&Span, step: &gpuscope_testkit::StepTruth| {
            let launch = span.correlation().and_then(|id| launches.get(&id));
            launch.is_some_and(|(start, _)| (step.start_ns..step.end_ns).contains(start))
        };
        for step in &file.truth.steps {
            let of_step =
                || file.spans().iter().filter(|span| span.is_gpu()).filter(|span| inside(span, step));
            let reductions = of_step().filter(|span| {
                span.name.contains("AllReduce_") && span.tid == 20 || span.name.contains("ReduceScatter")
            });
            let updates = of_step().filter(|span| span.name.contains("FusedAdamMathFunctor"));
            let last_reduced = reductions.map(|span| span.end).max().expect("gradients are reduced");
            assert!(updates.clone().count() > 0, "{label}");
            assert!(updates.map(|span| span.start).min() >= Some(last_reduced), "{label}");
        }
    }
}
