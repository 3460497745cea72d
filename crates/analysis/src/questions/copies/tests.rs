use gpuscope_figure::{Data, Pictured};
use gpuscope_trace::{Arg, Id, Phase as EventPhase};

use super::*;
use crate::testing::{Sample, trace};

fn copy(sample: Sample, name: &str, start: i64, end: i64, bytes: i64) -> Sample {
    sample.event(EventPhase::Complete, "gpu_memcpy", name, Some(start), Some(end - start), |record| {
        (record.pid, record.tid) = (Id::Int(0), Id::Int(7));
        (record.device, record.stream) = (Id::Int(0), Id::Int(7));
        record.set_int(Arg::Bytes, bytes);
    })
}

/// Two layers, each launching one kernel, while data is copied.
fn job() -> Sample {
    let sample = trace()
        .host("python_function", "nn.Module: Net_0", 0..100)
        .host("python_function", "nn.Module: Linear_0", 5..40)
        .call(1, 10..12)
        .host("python_function", "nn.Module: Linear_1", 45..90)
        .call(2, 50..52)
        .kernel("gemm", 7, 100..200, 1)
        .kernel("gemm", 7, 200..260, 2);
    let sample = copy(sample, "Memcpy HtoD (Pinned -> Device)", 100, 150, 1000);
    let sample = copy(sample, "Memcpy HtoD (Pageable -> Device)", 120, 180, 500);
    copy(sample, "Memcpy DtoH (Device -> Pinned)", 300, 300, 7)
}

fn points(points: &[BytesPoint]) -> Vec<(i64, i64)> {
    points.iter().map(|point| (point.time_ns.0, point.bytes)).collect()
}

#[test]
fn bytes_in_flight_add_up_and_come_down_to_zero() {
    let answer = job().build().ask(&Copies);
    let rank = &answer.ranks[0];
    let kinds: Vec<_> = rank.kinds.iter().map(|kind| (kind.kind.as_str(), points(&kind.points))).collect();
    assert_eq!(
        kinds,
        [
            ("Memcpy DtoH", vec![(300, 7), (301, 0)]),
            ("Memcpy HtoD", vec![(100, 1000), (120, 1500), (150, 500), (180, 0)]),
        ]
    );
    assert_eq!(points(&rank.running_total), [(150, 1000), (180, 1500), (300, 1507)]);
}

#[test]
fn layers_are_where_their_kernels_ran() {
    let answer = job().build().ask(&Copies);
    let rank = &answer.ranks[0];
    let layers: Vec<_> =
        rank.layers.iter().map(|run| (run.module.as_str(), run.pass, run.start_ns.0, run.end_ns.0)).collect();
    assert_eq!(layers, [("Linear_0", Pass::Forward, 100, 200), ("Linear_1", Pass::Forward, 200, 260)]);
    let forward: Vec<_> = rank.passes.iter().filter(|run| run.phase == Phase::Forward).collect();
    assert_eq!(forward.iter().map(|run| (run.start_ns.0, run.end_ns.0)).collect::<Vec<_>>(), [(100, 260)]);
}

#[test]
fn the_running_total_is_there_to_be_switched_on() {
    let figures = job().build().ask(&Copies).figures();
    let series = &figures[0].panels[0].series;
    let hidden: Vec<&str> =
        series.iter().filter(|series| series.hidden).map(|series| series.name.as_str()).collect();
    assert_eq!(hidden, ["running total"]);
    let Data::Line { x, y, .. } = &series[1].data else { panic!("a line") };
    assert_eq!((x[1], y[1]), (20.0, 1500.0));
}

#[test]
fn without_copies_there_is_nothing_to_draw() {
    assert!(trace().kernel("gemm", 7, 0..10, None).build().ask(&Copies).figures().is_empty());
}
