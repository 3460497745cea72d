//! What must hold for every trace: small random ones, asked and worked out again nanosecond by nanosecond.

use std::collections::BTreeMap;

use gpuscope_trace::Ns;
use proptest::prelude::*;

use crate::breakdown::{Breakdown, RankBreakdown, Times};
use crate::kernels::{KernelType, Kernels};
use crate::testing::{Loaded, trace};
use crate::{Overlap, Temporal};

const MICRO: i64 = 3;

/// A GPU event: what it is, where and when it ran, and when it was launched, if it was.
#[derive(Clone, Debug)]
struct Event {
    what: usize,
    device: i64,
    stream: i64,
    start: i64,
    dur: i64,
    launch: Option<i64>,
}

/// Category, name, and the letter of its kind.
const WHAT: [(&str, &str, char); 5] = [
    ("kernel", "gemm", 'c'),
    ("kernel", "ncclAllReduce", 'n'),
    ("gpu_memcpy", "Memcpy HtoD", 'm'),
    ("gpu_memset", "Memset (Device)", 's'),
    ("kernel", "relu", 'c'),
];

impl Event {
    fn kind(&self) -> char {
        WHAT[self.what].2
    }

    fn covers(&self, t: i64) -> bool {
        self.start <= t && t < self.start + self.dur
    }
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = (0..WHAT.len(), 0..2i64, 0..2i64, 0..60i64, 0..12i64, proptest::option::of(0..60i64));
    let event = event.prop_map(|(what, device, stream, start, dur, launch)| Event {
        what,
        device,
        stream,
        start,
        dur,
        launch,
    });
    proptest::collection::vec(event, 0..12)
}

/// Borders of up to four steps that follow each other, at times with a pause between.
fn steps() -> impl Strategy<Value = Vec<(i64, i64)>> {
    proptest::collection::vec((0..4i64, 1..20i64), 0..4).prop_map(|steps| {
        let mut at = 0;
        steps
            .into_iter()
            .map(|(pause, length)| {
                let start = at + pause;
                at = start + length;
                (start, at)
            })
            .collect()
    })
}

fn load(events: &[Event], steps: &[(i64, i64)]) -> Loaded {
    let mut sample = trace();
    for (number, (start, end)) in steps.iter().enumerate() {
        sample = sample.step(number as i64, *start..*end);
    }
    for (i, event) in events.iter().enumerate() {
        let corr = i as i64 + 1;
        if let Some(launch) = event.launch {
            sample = sample.call(corr, launch..launch + 1);
        }
        let (category, name, _) = WHAT[event.what];
        let time = event.start..event.start + event.dur;
        sample = sample.on(event.device);
        sample = match category {
            "gpu_memcpy" => sample.memcpy(name, event.stream, time, corr),
            "gpu_memset" => sample.memset(event.stream, time, corr),
            _ => sample.kernel(name, event.stream, time, corr),
        };
    }
    sample.build()
}

fn breakdown(loaded: &Loaded) -> RankBreakdown {
    let question = Breakdown { micro_idle: Some(Ns(MICRO)) };
    loaded.ask(&question).ranks.remove(0)
}

/// The kinds that run at each nanosecond from the first start to the last end.
fn by_nanosecond(events: &[&Event]) -> Vec<Vec<char>> {
    let start = events.iter().map(|e| e.start).min().unwrap_or(0);
    let end = events.iter().map(|e| e.start + e.dur).max().unwrap_or(0);
    (start..end).map(|t| events.iter().filter(|e| e.covers(t)).map(|e| e.kind()).collect()).collect()
}

fn slow_times(events: &[&Event]) -> Times {
    let instants = by_nanosecond(events);
    let count =
        |test: &dyn Fn(&[char]) -> bool| Ns(instants.iter().filter(|kinds| test(kinds)).count() as i64);
    let comp = |kinds: &[char]| kinds.contains(&'c') || kinds.contains(&'s');
    let idle = instants.chunk_by(|a, b| a.is_empty() == b.is_empty()).filter(|run| run[0].is_empty());
    let micro: usize = idle.map(<[_]>::len).filter(|length| *length < MICRO as usize).sum();
    Times {
        computation_ns: count(&comp),
        comm_ns: count(&|kinds| kinds.contains(&'n')),
        memcpy_ns: count(&|kinds| kinds.contains(&'m')),
        exposed_comm_ns: count(&|kinds| kinds.contains(&'n') && !comp(kinds)),
        exposed_memcpy_ns: count(&|kinds| kinds.contains(&'m') && !comp(kinds) && !kinds.contains(&'n')),
        busy_ns: count(&|kinds| !kinds.is_empty()),
        total_ns: Ns(instants.len() as i64),
        idle_ns: count(&<[char]>::is_empty),
        micro_idle_ns: Some(Ns(micro as i64)),
        macro_idle_ns: Some(count(&<[char]>::is_empty) - Ns(micro as i64)),
        est_sm_efficiency_pct: None,
        est_occupancy_pct: None,
    }
}

fn parts(times: &Times) -> Ns {
    times.computation_ns + times.exposed_comm_ns + times.exposed_memcpy_ns + times.idle_ns
}

proptest! {
    #[test]
    fn the_breakdown_is_what_counting_nanoseconds_gives(events in events(), steps in steps()) {
        let rank = breakdown(&load(&events, &steps));
        prop_assert_eq!(&rank.total, &slow_times(&events.iter().collect::<Vec<_>>()));
        for device in &rank.devices {
            let on_device: Vec<_> = events.iter().filter(|e| e.device == device.device).collect();
            prop_assert_eq!(&device.times, &slow_times(&on_device));
        }
        prop_assert_eq!(rank.steps.len(), steps.len());
        for (step, (start, end)) in rank.steps.iter().zip(&steps) {
            let inside = |launch: i64| *start <= launch && launch < *end;
            let launched: Vec<_> = events.iter().filter(|e| e.launch.is_some_and(inside)).collect();
            prop_assert_eq!(&step.times, &slow_times(&launched));
            prop_assert_eq!(step.wall_ns, Ns(end - start));
        }
    }

    #[test]
    fn the_parts_make_up_the_whole_to_the_nanosecond(events in events(), steps in steps()) {
        let rank = breakdown(&load(&events, &steps));
        let of_devices = rank.devices.iter().map(|d| &d.times);
        let of_steps = rank.steps.iter().map(|s| &s.times);
        for times in of_devices.chain(of_steps).chain([&rank.total]) {
            prop_assert_eq!(parts(times), times.total_ns);
            prop_assert!(times.busy_ns <= times.computation_ns + times.comm_ns + times.memcpy_ns);
        }
        for step in &rank.steps {
            prop_assert_eq!(parts(&step.times) + step.lead_idle_ns + step.tail_idle_ns, step.window_ns);
            prop_assert!(step.lead_idle_ns >= Ns::ZERO && step.tail_idle_ns >= Ns::ZERO);
            prop_assert!(step.window_ns >= step.wall_ns);
        }
        let periods: Vec<_> = rank.steps.iter().filter_map(|s| s.period_ns).collect();
        prop_assert!(periods.len() < rank.steps.len().max(1));
    }

    #[test]
    fn the_order_of_events_in_the_file_changes_nothing(
        (events, shuffled) in events().prop_flat_map(|e| (Just(e.clone()), Just(e).prop_shuffle())),
        steps in steps(),
    ) {
        let (a, b) = (load(&events, &steps), load(&shuffled, &steps));
        prop_assert_eq!(breakdown(&a), breakdown(&b));
        prop_assert_eq!(a.ask(&Temporal), b.ask(&Temporal));
        prop_assert_eq!(a.ask(&Overlap), b.ask(&Overlap));
        let kernels = Kernels { num_kernels: Some(1), ..Kernels::default() };
        prop_assert_eq!(a.ask(&kernels), b.ask(&kernels));
        prop_assert_eq!(a.quality(), b.quality());
    }

    #[test]
    fn types_temporal_and_overlap_are_what_counting_nanoseconds_gives(events in events()) {
        let loaded = load(&events, &[]);
        let instants = by_nanosecond(&events.iter().collect::<Vec<_>>());
        let mut expected: BTreeMap<String, i64> = BTreeMap::new();
        for kinds in instants.iter().filter(|kinds| !kinds.is_empty()) {
            let memory = kinds.contains(&'m') || kinds.contains(&'s');
            let active = [kinds.contains(&'c'), kinds.contains(&'n'), memory];
            let labels = KernelType::ALL.iter().zip(active).filter(|(_, active)| *active);
            let label = labels.map(|(t, _)| t.label()).collect::<Vec<_>>().join(" overlapping ");
            *expected.entry(label).or_default() += 1;
        }
        let types = loaded.ask(&Kernels::default()).types;
        let got: BTreeMap<_, _> = types.iter().map(|row| (row.kernel_type.clone(), row.sum_ns.0)).collect();
        prop_assert_eq!(got, expected);
        prop_assert!(types.is_sorted_by(|a, b| a.sum_ns >= b.sum_ns));

        let count = |test: &dyn Fn(&[char]) -> bool| Ns(instants.iter().filter(|k| test(k)).count() as i64);
        let temporal = loaded.ask(&Temporal).ranks.remove(0);
        prop_assert_eq!(temporal.compute_ns, count(&|kinds| kinds.contains(&'c')));
        prop_assert_eq!(temporal.idle_ns, count(&<[char]>::is_empty));
        prop_assert_eq!(temporal.idle_ns + temporal.compute_ns + temporal.non_compute_ns, temporal.kernel_ns);
        let overlap = loaded.ask(&Overlap).ranks.remove(0);
        prop_assert_eq!(overlap.overlap_ns, count(&|kinds| kinds.contains(&'c') && kinds.contains(&'n')));
        prop_assert_eq!(overlap.comm_ns, count(&|kinds| kinds.contains(&'n')));
    }

    #[test]
    fn folding_kernels_loses_neither_launches_nor_time(events in events(), keep in 0..4usize) {
        let loaded = load(&events, &[]);
        let all = loaded.ask(&Kernels::default()).kernels;
        let folded = loaded.ask(&Kernels { num_kernels: Some(keep), ..Kernels::default() }).kernels;
        for rows in [&all, &folded] {
            prop_assert_eq!(rows.iter().map(|row| row.count).sum::<u64>(), events.len() as u64);
            prop_assert_eq!(rows.iter().map(|r| r.sum_ns.0).sum::<i64>(), events.iter().map(|e| e.dur).sum::<i64>());
            for row in rows {
                prop_assert!(row.min_ns.as_f64() <= row.mean_ns && row.mean_ns <= row.max_ns.as_f64());
            }
        }
        // The deviation against the textbook's two passes.
        for row in &all {
            let durs: Vec<_> = events.iter().filter(|e| WHAT[e.what].1 == row.name).map(|e| e.dur as f64).collect();
            let mean = durs.iter().sum::<f64>() / durs.len() as f64;
            let squares: f64 = durs.iter().map(|d| (d - mean).powi(2)).sum();
            let deviation = if durs.len() < 2 { 0.0 } else { (squares / (durs.len() - 1) as f64).sqrt() };
            prop_assert!((row.std_ns - deviation).abs() < 1e-9, "{} {}", row.std_ns, deviation);
        }
    }
}
