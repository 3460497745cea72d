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
fn of_many_that_are_as_long_as_there_is_room_for() {
    let mut sample = trace();
    for i in 0..100 {
        sample = sample.kernel("a", 7, i * 10..i * 10 + 9, None);
    }
    let picture = picture(&sample.build(), 40);
    assert_eq!((picture.left_out.gpu, picture.left_out.gpu_longest), (60, Ns(9)));
    assert_eq!(picture.tracks.iter().flat_map(|track| &track.lanes).map(Lane::len).sum::<usize>(), 40);
}

#[test]
fn the_shortest_host_events_are_left_out_first() {
    let mut sample = trace().kernel("a", 7, 0..1, None);
    for i in 0..10 {
        sample = sample.host("cpu_op", "op", i * 100..i * 100 + (1 << i));
    }
    let picture = picture(&sample.build(), 5);
    let left_out = picture.left_out;
    assert_eq!((left_out.host, left_out.host_longest, left_out.gpu), (6, Ns(32), 0));
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

/// Two streams and a thread with nested operators, and a counter.
fn atlas() -> Atlas {
    let loaded = trace()
        .step(3, 0..1000)
        .host("cpu_op", "aten::outer", 100..200)
        .host("cpu_op", "aten::inner", 110..150)
        .call(1, 120..130)
        .call(2, 160..170)
        .kernel("gemm_a", 7, 150..170, 1)
        .kernel("Gemm_b", 7, 180..190, 2)
        .kernel("copy", 8, 160..185, None)
        .build();
    Atlas::new(picture(&loaded, 1000))
}

fn number(atlas: &Atlas, name: &str) -> u32 {
    (0..100).find(|number| atlas.slice(*number).is_some_and(|slice| slice.name == name)).unwrap()
}

#[test]
fn a_slice_knows_its_launch_and_what_is_around_that() {
    let atlas = atlas();
    let kernel = atlas.described(number(&atlas, "gemm_a")).unwrap();
    assert_eq!((kernel.slice.start_ns, kernel.slice.end_ns), (Ns(150), Ns(170)));
    let [call] = &kernel.launched_by[..] else { panic!("{kernel:?}") };
    let call = atlas.described(call.number).unwrap();
    assert_eq!(call.launched, [kernel.slice]);
    let around: Vec<&str> = call.around.iter().map(|slice| slice.name.as_str()).collect();
    assert_eq!(around, ["ProfilerStep#3", "aten::outer", "aten::inner"]);
    assert_eq!(atlas.slice(u32::MAX), None);
    assert_eq!(atlas.described(99), None);
}

#[test]
fn slices_are_found_in_any_case_and_in_order_of_time() {
    let atlas = atlas();
    let found = atlas.find("GEMM ");
    assert_eq!((found.count, found.total_ns), (2, Ns(30)));
    let [a, b] = ["gemm_a", "Gemm_b"].map(|name| number(&atlas, name));
    assert_eq!(atlas.next(&found.names, (Ns(-1), 0), true), Some(a));
    assert_eq!(atlas.next(&found.names, (Ns(150), a), true), Some(b));
    assert_eq!(atlas.next(&found.names, (Ns(180), b), true), None);
    assert_eq!(atlas.next(&found.names, (Ns(180), b), false), Some(a));
    assert_eq!(atlas.next(&[u32::MAX], (Ns(0), 0), true), None);
    assert_eq!(atlas.find("  "), Found::default());
    assert_eq!(atlas.find("ProfilerStep").count, 1, "a step is in two tracks");
}

#[test]
fn a_range_counts_what_is_inside_it() {
    let [gpu, host] = atlas().range(Ns(155), Ns(182));
    assert_eq!((gpu.count, gpu.total_ns, gpu.union_ns), (3, Ns(15 + 22 + 2), Ns(27)));
    assert_eq!(gpu.top[0], NameTime { name: "copy".to_owned(), count: 1, total_ns: Ns(22) });
    // The step is around the operator, so that nothing else adds to the time.
    assert_eq!((host.count, host.total_ns, host.union_ns), (3, Ns(27), Ns(27)));
}

#[test]
fn a_counter_keeps_its_peaks_and_what_holds() {
    let counter = Counter {
        unit: Unit::Count,
        time: [0, 1, 2, 3, 20, 21].map(Ns).to_vec(),
        value: vec![1, 9, 2, 3, 5, 4],
    };
    let track = Track {
        group: String::new(),
        title: String::new(),
        sort: TrackSort::Counter,
        lanes: Vec::new(),
        counter: Some(counter),
    };
    let atlas = Atlas::new(Picture { tracks: vec![track], ..Picture::default() });
    let points = |from, to| atlas.points(0, Ns(from)..Ns(to), Ns(10));
    assert_eq!(points(0, 40), [(Ns(1), 9), (Ns(3), 3), (Ns(20), 5), (Ns(21), 4)]);
    assert_eq!(points(10, 15), [(Ns(3), 3)], "set before, and still so");
    assert_eq!(atlas.points(7, Ns(0)..Ns(9), Ns(1)), []);
}
