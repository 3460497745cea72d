use super::*;

fn metric(
    name: &'static str,
    measure: Measure,
    a: impl Into<Option<i64>>,
    b: impl Into<Option<i64>>,
) -> Metric {
    Metric { name, measure, a: a.into(), b: b.into() }
}

/// Step time from 100 ms to 104 ms, idle from nothing to 5 ms, 1000 bytes to 2000, as many events, no `busy` in A.
fn metrics() -> Vec<Metric> {
    vec![
        metric("step_time", Measure::Ns, 100_000_000, 104_000_000),
        metric("idle", Measure::Ns, 0, 5_000_000),
        metric("busy", Measure::Ns, None, 7),
        metric("copied", Measure::Bytes, 1_000, 2_000),
        metric("gpu_events", Measure::Count, 50, 50),
    ]
}

fn failed(text: &str) -> bool {
    Gate::parse(text, &metrics()).unwrap_or_else(|error| panic!("{text}: {error}")).judge(&metrics()).failed
}

#[test]
fn clauses_compare_the_change_or_the_value() {
    for (text, fails) in [
        ("step_time > +3%", true),
        ("step_time > +4%", false),
        ("step_time >= +4%", true),
        ("step_time > 3.999%", true),
        ("step_time > +4.000000001%", false),
        ("step_time > +3.9ms", true),
        ("step_time > +4ms", false),
        ("step_time >= 4000us", true),
        ("step_time > 103ms", true),
        ("step_time > 0.105s", false),
        ("step_time < -1%", false),
        ("step_time_ns <= 104000000ns", true),
        ("idle > +1%", true),
        ("idle > +5ms", false),
        ("copied_bytes >= +1kB", true),
        ("copied > 2KiB", false),
        ("gpu_events > +0", false),
        ("gpu_events >= 50", true),
        ("gpu_events<51", true),
        ("gpu_events < -10%", false),
    ] {
        assert_eq!(failed(text), fails, "{text}");
    }
}

#[test]
fn and_binds_tighter_than_or() {
    let (yes, no) = ("idle > +1ms", "idle > +9ms");
    for (text, fails) in [
        (format!("{yes} and {yes}"), true),
        (format!("{yes} and {no}"), false),
        (format!("{no} or {yes}"), true),
        (format!("{yes} or {no} and {no}"), true),
        (format!("({yes} or {no}) and {no}"), false),
        (format!("(({yes})) AND ({no} OR {yes})"), true),
    ] {
        assert_eq!(failed(&text), fails, "{text}");
    }
}

#[test]
fn what_cannot_be_judged_fails_unless_it_does_not_matter() {
    assert!(failed("busy > +1%"));
    assert!(failed("busy > +1% and step_time > +1%"));
    assert!(!failed("busy > +1% and step_time > +50%"));
    assert!(failed("busy > +1% or step_time > +50%"));
    // Of B alone it is known.
    assert!(!failed("busy > 8ns"));
    let gate = Gate::parse("busy > +1%", &metrics()).unwrap();
    assert_eq!(gate.judge(&metrics()).clauses[0].message, "busy is not known of A, so this cannot be judged");
}

#[test]
fn the_verdict_says_which_clause_and_by_how_much() {
    let gate = Gate::parse("step_time > +3% and step_time > +2ms or idle > 1s", &metrics()).unwrap();
    let verdict = gate.judge(&metrics());
    let told: Vec<_> =
        verdict.clauses.iter().map(|c| (c.clause.as_str(), c.holds, c.message.as_str())).collect();
    let step = "step_time went from 100 ms to 104 ms: +4 ms, +4.0 %";
    assert_eq!(
        told,
        [
            ("step_time > +3%", true, step),
            ("step_time > +2ms", true, step),
            ("idle > 1s", false, "idle went from 0 ns to 5 ms: +5 ms"),
        ]
    );
}

#[test]
fn what_is_misread_is_shown_with_its_place() {
    for (text, said) in [
        ("", "at character 1: expected a metric (step_time, idle, busy, copied, gpu_events), found the end"),
        ("step_tim > 3%", "at character 1: expected a metric ("),
        ("step_time 3%", "at character 11: expected `>`, `<`, `>=` or `<=`, found `3%` behind `step_time`"),
        ("step_time > fast", "at character 13: expected a number, such as +3%, +2ms or 200ms, found `fast`"),
        ("step_time > 3", "at character 14: expected a unit of time (ns, us, ms, s) or %, found the end"),
        ("step_time > 3MB", "at character 14: expected a unit of time"),
        ("copied > 3ms", "at character 11: expected a unit of size"),
        ("gpu_events > 3ms", "at character 15: expected a plain number or %"),
        ("(idle > 3ms", "at character 12: expected `)`, found the end"),
        ("idle > 3ms idle", "at character 12: expected `and`, `or` or the end, found `idle`"),
        ("idle > 3ms and", "at character 15: expected a metric"),
        ("idle > 1..5ms", "at character 8: expected a number"),
        ("idle > 99999999999999999999s", "at character 8: expected a number"),
        ("µµ > 1", "at character 1: expected a metric"),
    ] {
        let error = Gate::parse(text, &metrics()).expect_err(text).to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
    assert!(Gate::parse(&"(".repeat(100_000), &metrics()).is_err());
}

#[test]
fn extremes_do_not_overflow() {
    let far = [metric("idle", Measure::Ns, i64::MIN, i64::MAX)];
    for (text, fails) in [
        ("idle > +9223372036s", true),
        ("idle > -9223372036.854775807s", true),
        ("idle >= +200%", false),
        ("idle > +199.999999999%", true),
        ("idle > +922337203.999999999%", false),
    ] {
        assert_eq!(Gate::parse(text, &far).unwrap().judge(&far).failed, fails, "{text}");
    }
}
