//! Detectors on small traces.

use super::*;
use crate::testing::{Loaded, Sample, trace};
use gpuscope_trace::Selection;

fn found(loaded: &Loaded) -> Vec<Opportunity> {
    opportunities(loaded.view(&Selection::everything()))
}

/// What is found on a real trace: `GPUSCOPE_TRACE=… cargo test -p gpuscope-analysis efficiency -- --ignored --nocapture`.
#[test]
#[ignore = "for people to look at a trace of theirs"]
#[expect(clippy::print_stderr, reason = "it is for people to read")]
fn of_a_real_trace() {
    let Some(path) = std::env::var_os("GPUSCOPE_TRACE") else { return };
    let options = gpuscope_formats::ReadOptions::default();
    let trace = gpuscope_formats::read(std::fs::File::open(path).unwrap(), options).unwrap().trace;
    let (index, selection) = (gpuscope_trace::Index::default(), Selection::everything());
    let view = View { trace: &trace, index: &index, selection: &selection };
    let busy = scene::Scene::of(view).busy;
    for found in opportunities(view) {
        let saved = 100.0 * found.saved(view) / busy.as_f64();
        eprintln!("{}: {} [saves {saved:.1} % of GPU time, {} launches]", found.id, found.title, found.removed_launches.len());
        eprintln!("    target: {}\n    evidence: {}", found.target, found.evidence);
        for name in &found.names {
            eprintln!("    - {}", name.chars().take(110).collect::<String>());
        }
    }
}
