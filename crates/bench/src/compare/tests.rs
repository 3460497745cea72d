use super::*;
use crate::data::{Measured, Timing};
use crate::random::normal;
use gpuscope_figure::Pictured;

fn side(label: &str, seed: u64, means: &[(&str, f64)]) -> Side {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut measured = Measured::default();
    measured.metadata.insert("gpu_name".to_owned(), label.into());
    measured.metadata.insert("host".to_owned(), "same".into());
    for (name, level) in means {
        let samples_ms: Vec<f64> = (0..60).map(|_| level * (1.0 + 0.02 * normal(&mut random))).collect();
        let timing = Timing { mean: mean(&samples_ms), ..Timing::default() };
        let rate = Some(256_000.0 / timing.mean);
        measured.benchmarks.insert(
            (*name).to_owned(),
            Benchmark { timing, samples_ms, throughput_tokens_per_sec: rate, ..Benchmark::default() },
        );
    }
    Side { label: label.to_owned(), measured }
}

#[test]
fn a_speed_up_has_an_interval_and_equal_sides_none() {
    let before = side("AS-IS", 1, &[("small", 2.0), ("large", 20.0), ("gone", 1.0)]);
    let after = side("TO-BE", 2, &[("small", 2.0), ("large", 10.0)]);
    let comparison = Comparison::of(&[before, after]);
    let row =
        |name: &str| comparison.rows.iter().find(|row| row.benchmark == name && row.side == "TO-BE").unwrap();
    assert_eq!(row("small").change, Some(Change::NoSignificantDifference));
    let large = row("large");
    assert_eq!(large.change, Some(Change::Faster));
    let (low, high) = (large.speedup_low.unwrap(), large.speedup_high.unwrap());
    assert!(low < 2.0 && 2.0 < high && high - low < 0.05, "{low} {high}");
    assert_eq!(comparison.missing, ["gone"]);
    assert_eq!(comparison.differences.len(), 2, "the host is the same");
    assert!(
        comparison.verdict.starts_with("TO-BE is 1.42 × as fast as AS-IS in the mean of 2"),
        "{}",
        comparison.verdict
    );
    let names: Vec<&str> = comparison.figures().iter().map(|figure| figure.name).collect();
    assert_eq!(names, ["compared_latency", "compared_throughput", "speedup"]);
}

#[test]
fn equal_runs_are_said_to_be_equal() {
    let comparison =
        Comparison::of(&[side("A", 3, &[("x", 5.0), ("y", 7.0)]), side("B", 4, &[("x", 5.0), ("y", 7.0)])]);
    assert_eq!(comparison.verdict, "No significant difference between B and A.");
}

#[test]
fn without_samples_nothing_is_tested() {
    let mut sides = [side("A", 5, &[("x", 5.0)]), side("B", 6, &[("x", 2.5)])];
    sides[1].measured.benchmarks["x"].samples_ms.clear();
    let comparison = Comparison::of(&sides);
    assert_eq!(comparison.rows[1].change, Some(Change::NotTested));
    assert!(comparison.verdict.contains("not tested for want of samples"));
}

#[test]
fn two_sides_of_one_name_are_told_apart() {
    let comparison = Comparison::of(&[side("A", 7, &[("x", 5.0)]), side("A", 8, &[("x", 5.0)])]);
    assert_eq!(comparison.sides, ["A", "A (2)"]);
}
