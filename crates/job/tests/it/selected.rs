//! What is selected by step is the truth of those steps.

use gpuscope_job::JobOptions;
use gpuscope_testkit::{Compression, Plan};
use gpuscope_trace::Criteria;

use crate::everything::Ranks;
use crate::figures;
use crate::planted::ask;

fn plans() -> [Plan; 3] {
    let small = Plan::small();
    [
        small.clone().steps(4).with_host_running_ahead(),
        small.clone().with_cuda_graph().with_unlinked_kernels(0, 200),
        small.ranks(4).layers(4).pipeline(2, 2).with_clock(3, -5_000_000, 99_999),
    ]
}

fn options(criteria: Criteria) -> JobOptions {
    JobOptions { criteria, ..JobOptions::default() }
}

#[test]
fn one_step_alone_is_all_there_is() {
    for plan in plans() {
        let number = i64::from(plan.first_step) + 1;
        let criteria = Criteria { steps: Some((number, number)), ..Criteria::default() };
        let (truth, outcome) = ask(&plan, Compression::None, options(criteria));
        let Ranks(ranks) = outcome.answer;
        for (answers, truth) in ranks.iter().zip(&truth.ranks) {
            let step = &truth.steps[1];
            assert_eq!(figures::breakdown(&answers.breakdown.total), step.breakdown);
            let mut expected = figures::true_step(step);
            // The step before is not looked at.
            expected.period = None;
            let rows: Vec<_> = answers.breakdown.steps.iter().map(figures::answered).collect();
            assert_eq!(rows, [expected]);
            let launches: u64 = answers.kernels.kernels.iter().map(|row| row.count).sum();
            assert_eq!(launches, step.gpu_events);
        }
    }
}

#[test]
fn without_the_last_step_the_others_are_as_they_were() {
    for plan in plans() {
        let criteria = Criteria { drop_last_step: true, ..Criteria::default() };
        let (truth, outcome) = ask(&plan, Compression::Gzip, options(criteria));
        let Ranks(ranks) = outcome.answer;
        assert_eq!(ranks.len(), truth.ranks.len());
        for (answers, truth) in ranks.iter().zip(&truth.ranks) {
            let kept = &truth.steps[..truth.steps.len() - 1];
            let rows: Vec<_> = answers.breakdown.steps.iter().map(figures::answered).collect();
            assert_eq!(rows, kept.iter().map(figures::true_step).collect::<Vec<_>>());
        }
    }
}
