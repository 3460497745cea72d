use gpuscope_trace::Ns;

use super::*;
use crate::model::step_time::Basis;
use crate::testing::trace;

fn asked() -> Dossier {
    Dossier { most_slices: 1_000, least_share: 0.0 }
}

fn parts(step: &MedianStep) -> Vec<(What, i64)> {
    step.parts.iter().map(|part| (part.what, part.ns.0)).collect()
}

#[test]
fn the_parts_of_a_period_make_it_up_to_the_nanosecond() {
    let loaded = trace()
        .step(1, 0..100)
        .call(1, 10..12)
        .kernel("gemm", 7, 20..90, 1)
        .step(2, 100..200_000)
        // Launched after the GPU had been idle for 110 ns; it took 60 ns to arrive.
        .call(2, 200..205)
        .kernel("gemm", 7, 260..1_000, 2)
        // Half hidden.
        .call(3, 300..305)
        .kernel("ncclDevKernel_AllReduce", 20, 900..1_100, 3)
        .call(4, 310..315)
        .memcpy("Memcpy HtoD", 21, 1_050..1_200, 4)
        // Launched long ago: the price of a launch, and more.
        .call(5, 320..325)
        .kernel("late", 7, 51_200..52_000, 5)
        .kernel("of nobody", 7, 52_050..52_060, None)
        .call(6, 330..335)
        .kernel("end", 7, 52_060..52_100, 6)
        .build();
    let step = loaded.ask(&asked()).median_step.unwrap();
    assert_eq!((step.step, step.from, step.start_ns), (2, Basis::Period, Ns(90)));
    assert_eq!(step.length_ns, Ns(52_100 - 90));
    assert_eq!(step.parts.iter().map(|part| part.ns).sum::<Ns>(), step.length_ns);
    assert_eq!(
        parts(&step),
        [
            (What::Computation, 740 + 800 + 10 + 40),
            (What::Transfer, 100),
            (What::Copy, 100),
            (What::IdleHost, 110),
            (What::IdleInCall, 5),
            (What::IdleLaunch, 55 + 30_000),
            (What::IdleQueued, 20_000),
            (What::IdleUnlinked, 50),
        ]
    );
}

#[test]
fn a_single_step_is_its_window_with_what_lies_before_and_after() {
    let loaded = trace().step(1, 0..1_000).call(1, 10..12).kernel("gemm", 7, 300..700, 1).build();
    let answer = loaded.ask(&asked());
    let step = answer.median_step.unwrap();
    assert_eq!((step.from, step.length_ns), (Basis::Window, Ns(1_000)));
    assert_eq!(parts(&step), [(What::Computation, 400), (What::Lead, 300), (What::Tail, 300)]);
    let number = |name: &str| answer.numbers.iter().find(|number| number.name == name).unwrap();
    assert_eq!((number("busy").value, number("exposed_comm").value), (Some(40.0), Some(0.0)));
    assert_eq!(number("memory_peak").value, None);
    assert!(number("memory_peak").note.as_deref().is_some_and(|note| note.contains("profile_memory")));
}

#[test]
fn without_steps_there_is_no_median_one() {
    let answer = trace().kernel("gemm", 7, 0..10, None).build().ask(&asked());
    assert_eq!(answer.median_step, None);
    assert_eq!(answer.numbers[0].note.as_deref(), Some("no steps are marked"));
    assert!(answer.timeline.picture.is_some());
}

#[test]
fn what_the_host_cost_is_told_step_by_step() {
    let loaded = trace()
        .step(1, 0..100)
        .call(1, 0..1)
        .kernel("a", 7, 10..50, 1)
        .step(2, 100..200)
        .call(2, 100..101)
        .kernel("b", 7, 110..150, 2)
        .step(3, 200..300)
        .call(3, 160..161)
        .call(4, 200..201)
        .kernel("c", 7, 201..250, 4)
        .build();
    let answer = loaded.ask(&asked());
    let host = answer.numbers.iter().find(|number| number.name == "host_idle").unwrap();
    // Of the first step's window, and of the periods of the two after it.
    assert_eq!(host.steps, [0.0, 50.0, 50.0]);
}
