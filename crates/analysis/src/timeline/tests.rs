use gpuscope_trace::Ns;

use super::*;
use crate::testing::{Loaded, RANK, trace};

fn picture(loaded: &Loaded, most: usize) -> Picture {
    loaded.ask(&Timeline { most_slices: Some(most) }).picture.unwrap()
}

/// Every track with its lanes as `name start..end`.
fn drawn(picture: &Picture) -> Vec<(String, Vec<String>)> {
    let slice = |lane: &Lane, i: usize| {
        format!("{} {}..{}", picture.names[lane.name[i] as usize], lane.start[i].0, lane.end[i].0)
    };
    let lanes = |track: &Track| {
        let lane = |lane: &Lane| (0..lane.len()).map(|i| slice(lane, i)).collect::<Vec<_>>().join(" ");
        track.lanes.iter().map(lane).collect()
    };
    picture.tracks.iter().map(|track| (track.title.clone(), lanes(track))).collect()
}

#[test]
fn what_is_inside_goes_below_and_what_overlaps_aside() {
    let loaded = trace()
        .host("cpu_op", "outer", 100..200)
        .host("cpu_op", "inner", 110..150)
        .host("cpu_op", "bleeding", 140..210)
        .call(1, 120..130)
        .kernel("a", 7, 150..170, 1)
        .kernel("b", 7, 160..180, None)
        .build();
    let picture = picture(&loaded, 100);
    let expected = [
        ("stream 7".to_owned(), vec!["a 50..70".to_owned(), "b 60..80".to_owned()]),
        ("queue, stream 7".to_owned(), vec![]),
        (
            "thread 1".to_owned(),
            vec!["outer 0..100".to_owned(), "inner 10..50".to_owned(), "cudaLaunchKernel 20..30".to_owned()],
        ),
    ];
    let drawn = drawn(&picture);
    assert_eq!(drawn[..2], expected[..2]);
    assert_eq!(drawn[2].1.len(), 3, "{:?}", drawn[2]);
    assert!(drawn[2].1.iter().any(|lane| lane.contains("bleeding 40..110")), "{:?}", drawn[2]);
    let nothing_overlaps = picture
        .tracks
        .iter()
        .flat_map(|track| &track.lanes)
        .all(|lane| lane.start.iter().skip(1).zip(&lane.end).all(|(start, end)| start >= end));
    assert!(nothing_overlaps);
    assert_eq!(picture.tracks[0].group, format!("rank {RANK}"));
}

#[test]
fn an_arrow_leads_from_the_launch_to_the_kernel() {
    let loaded = trace().call(1, 0..5).kernel("a", 7, 10..20, 1).kernel("b", 7, 30..40, None).build();
    let picture = picture(&loaded, 100);
    let names: Vec<&str> = picture
        .tracks
        .iter()
        .flat_map(|track| &track.lanes)
        .flat_map(|lane| lane.name.iter().map(|name| picture.names[*name as usize].as_str()))
        .collect();
    let [(from, to)] = picture.arrows[..] else { panic!("{:?}", picture.arrows) };
    assert_eq!((names[from as usize], names[to as usize]), ("cudaLaunchKernel", "a"));
}

#[test]
fn the_shortest_host_events_are_left_out_first() {
    let mut sample = trace().kernel("a", 7, 0..1, None);
    for i in 0..10 {
        sample = sample.host("cpu_op", "op", i * 100..i * 100 + (1 << i));
    }
    let picture = picture(&sample.build(), 5);
    let left_out = picture.left_out;
    assert_eq!((left_out.host, left_out.host_below, left_out.gpu), (6, Ns(64), 0));
    assert_eq!(picture.tracks.iter().flat_map(|track| &track.lanes).map(Lane::len).sum::<usize>(), 5);
}

#[test]
fn waiting_calls_are_not_activity() {
    let loaded = trace()
        .host("cpu_op", "op", 0..30)
        .named_call("cudaDeviceSynchronize", 9, 30..90)
        .call(1, 20..40)
        .kernel("a", 7, 35..95, 1)
        .build();
    let [rank] = loaded.ask(&Timeline::default()).ranks[..] else { panic!() };
    assert_eq!(
        (rank.total_ns, rank.cpu_active_ns, rank.gpu_active_ns, rank.overlap_ns),
        (Ns(95), Ns(40), Ns(60), Ns(5))
    );
}
