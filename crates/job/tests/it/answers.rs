//! Any question, put to a job that is written for it.

use gpuscope_analysis::Question;
use gpuscope_job::{JobOptions, Outcome, Run};
use gpuscope_testkit::{Compression, Plan, Truth, write_job};

pub(crate) fn ask<Q: Question>(plan: &Plan, question: &Q) -> (Truth, Outcome<Q::Answer>) {
    let folder = tempfile::tempdir().expect("a folder");
    let truth = write_job(plan, folder.path(), Compression::None).expect("written");
    let traces = [folder.path().to_string_lossy().into_owned()];
    let run = Run::open(&traces, JobOptions::default()).expect("traces");
    (truth, run.ask(question).expect("an answer"))
}
