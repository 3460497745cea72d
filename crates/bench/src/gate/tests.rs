use super::*;
use crate::random::normal;

fn judged(values: &[f64], better: Better) -> Judgement {
    judge(&[Judged { values, better, absolute: 0.0 }], &Policy::default())[0]
}

fn noisy(random: &mut fastrand::Rng, runs: usize, level: f64, noise: f64) -> Vec<f64> {
    (0..runs).map(|_| level * (1.0 + noise * normal(random))).collect()
}

#[test]
fn a_change_must_be_large_in_both_ways_and_more_than_chance() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut values = noisy(&mut random, 30, 100.0, 0.002);
    values.extend(noisy(&mut random, 5, 102.0, 0.002));
    assert_eq!(judged(&values, Better::Lower).verdict, Verdict::Same, "two percent are below three");
    let narrow = Policy { relative: 0.01, ..Policy::default() };
    let at = |absolute| judge(&[Judged { values: &values, better: Better::Lower, absolute }], &narrow)[0];
    let worse = at(1.0);
    assert_eq!((worse.verdict, worse.runs_newest, worse.runs_before), (Verdict::Worse, 5, 30));
    assert!((worse.change_pct.unwrap() - 2.0).abs() < 0.3 && worse.p.is_some_and(|p| p <= 0.001));
    assert_eq!(at(5.0).verdict, Verdict::Same, "two units are below five");
    // One bad run after thirty good ones may be chance.
    assert_eq!(judged(&[&values[..30], &[150.0]].concat(), Better::Lower).verdict, Verdict::Same);
}

#[test]
fn what_is_worse_depends_on_the_metric() {
    let mut random = fastrand::Rng::with_seed(2);
    let mut values = noisy(&mut random, 20, 100.0, 0.01);
    values.extend(noisy(&mut random, 4, 90.0, 0.01));
    assert_eq!(judged(&values, Better::Higher).verdict, Verdict::Worse);
    assert_eq!(judged(&values, Better::Lower).verdict, Verdict::Better);
}

#[test]
fn a_level_that_was_left_long_ago_does_not_count() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut values = noisy(&mut random, 20, 80.0, 0.01);
    values.extend(noisy(&mut random, 20, 100.0, 0.01));
    let same = judged(&values, Better::Lower);
    assert_eq!((same.verdict, same.runs_before + same.runs_newest), (Verdict::Same, 20));
}

#[test]
fn few_runs_are_not_judged() {
    let least = Policy::default().least_runs(1).unwrap();
    assert_eq!((least, Policy::default().least_runs(18)), (10, Some(16)));
    assert_eq!(Policy { level: 1e-9, ..Policy::default() }.least_runs(1), None, "no history is long enough");
    for runs in 0..least {
        let values: Vec<f64> = (0..runs).map(|run| run as f64).collect();
        assert_eq!(judged(&values, Better::Lower).verdict, Verdict::TooFewRuns);
    }
    assert_ne!(judged(&vec![1.0; least], Better::Lower).verdict, Verdict::TooFewRuns);
}

#[test]
fn the_more_is_looked_at_the_clearer_it_must_be() {
    let p = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
    assert_eq!(holm(&p(&[0.004, 0.2]), 0.005), [false, false]);
    assert_eq!(holm(&p(&[0.002, 0.2]), 0.005), [true, false]);
    assert_eq!(holm(&[Some(0.002), None, Some(0.004)], 0.005), [true, false, true]);
}

/// In percent of the level.
const NOISE: [f64; 7] = [1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 25.0];
const HISTORIES: usize = 2_000;
const RUNS: usize = 30;
const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/benchmarks.md");

/// The table that the documentation shows, worked out anew. `GPUSCOPE_WRITE_GATE_TABLE=1` writes it.
#[test]
fn false_alarms_are_rare_and_shifts_are_found() {
    let mut lines = vec![
        "| noise of a run | false alarms per call | 5 % slower, found within 5 runs | 10 % slower, found within 5 runs |"
            .to_owned(),
        "|---:|---:|---:|---:|".to_owned(),
    ];
    let share = |found: usize| found as f64 / HISTORIES as f64 * 100.0;
    for noise in NOISE {
        let mut random = fastrand::Rng::with_seed(noise as u64);
        let mut alarms = 0;
        let mut found = [0, 0];
        for _ in 0..HISTORIES {
            let before = noisy(&mut random, RUNS, 100.0, noise / 100.0);
            alarms += usize::from(judged(&before, Better::Lower).verdict == Verdict::Worse);
            for (found, level) in found.iter_mut().zip([105.0, 110.0]) {
                let after = noisy(&mut random, 5, level, noise / 100.0);
                *found += usize::from((1..=5).any(|runs| {
                    judged(&[&before[..], &after[..runs]].concat(), Better::Lower).verdict == Verdict::Worse
                }));
            }
        }
        assert!(share(alarms) <= 1.0, "{alarms} false alarms in {HISTORIES} calls at {noise} %");
        assert!(noise > 2.0 || share(found[0]) >= 90.0, "{} of {HISTORIES} found at {noise} %", found[0]);
        let [five, ten] = found.map(share);
        lines.push(format!("| {noise} % | {:.2} % | {five:.1} % | {ten:.1} % |", share(alarms)));
    }
    let table = lines.join("\n");
    let document = std::fs::read_to_string(TABLE).unwrap();
    if std::env::var_os("GPUSCOPE_WRITE_GATE_TABLE").is_some() {
        let (head, rest) = document.split_once("<!-- gate table -->\n").unwrap();
        let (_, tail) = rest.split_once("<!-- end -->").unwrap();
        std::fs::write(TABLE, format!("{head}<!-- gate table -->\n{table}\n<!-- end -->{tail}")).unwrap();
    } else {
        assert!(document.contains(&table), "docs/benchmarks.md is not up to date; it should have\n{table}");
    }
}

/// Noise of real machines is neither normal nor even: now and then a run takes half as long again.
#[test]
fn outliers_raise_no_alarm() {
    let mut random = fastrand::Rng::with_seed(9);
    let alarms = (0..HISTORIES).filter(|_| {
        let mut values = noisy(&mut random, RUNS, 100.0, 0.02);
        for value in &mut values {
            *value *= if random.f64() < 0.1 { 1.5 } else { 1.0 };
        }
        judged(&values, Better::Lower).verdict == Verdict::Worse
    });
    assert!(alarms.count() <= HISTORIES / 100);
}

#[test]
fn many_numbers_can_be_judged_in_one_call() {
    let mut random = fastrand::Rng::with_seed(12);
    let all: Vec<Vec<f64>> = (0..2_000)
        .map(|_| [noisy(&mut random, 40, 100.0, 0.01), noisy(&mut random, 5, 200.0, 0.01)].concat())
        .collect();
    let series: Vec<Judged<'_>> =
        all.iter().map(|values| Judged { values, better: Better::Lower, absolute: 0.0 }).collect();
    let worse = judge(&series, &Policy::default()).iter().filter(|one| one.verdict == Verdict::Worse).count();
    // A few look as if their level had changed before, and have too few runs since.
    assert!(worse > 1_950, "{worse}");
}
