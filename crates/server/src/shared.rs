//! What all requests share.

use std::sync::Arc;
use std::time::Instant;

use gpuscope_job::Sort;
use tokio::sync::watch;

use crate::access::Access;
use crate::answers::Answers;
use crate::asker::{Asker, Problem, ProblemKind};
use crate::index::{Index, Run, Status};
use crate::timelines::Timelines;

pub(crate) struct Shared {
    pub(crate) asker: Arc<dyn Asker>,
    pub(crate) index: Arc<Index>,
    pub(crate) answers: Arc<Answers>,
    pub(crate) timelines: Arc<Timelines>,
    pub(crate) access: Access,
    /// Notes, tags and uploads are taken.
    pub(crate) writable: bool,
    /// Before every path, behind a proxy: `/gpu` or nothing.
    pub(crate) base: String,
    pub(crate) begun: Instant,
    /// Tells streams without an end that the end has come.
    pub(crate) stop: watch::Receiver<bool>,
}

impl Shared {
    /// The newest run of a sort that can be asked about.
    pub(crate) fn newest(&self, sort: Sort) -> Option<Run> {
        let has_events = |run: &Run| run.overview.as_ref().is_none_or(|overview| overview.view.is_none());
        let is_whole =
            |run: &Run| !matches!(run.status, Status::Damaged(_) | Status::Unread(_) | Status::Landing);
        let is_usable = |run: &Run| is_whole(run) && has_events(run);
        self.index.runs().into_iter().filter(|run| run.sort == sort).find(is_usable)
    }

    pub(crate) fn run(&self, id: &str) -> Result<Run, Problem> {
        if id == "newest" {
            return self.newest(Sort::Traces).ok_or_else(|| {
                let message = format!("there are no runs in {}", self.index.root().display());
                Problem::new(ProblemKind::Missing, message, "gpuscope profile train.py writes one")
            });
        }
        self.index.run(id).ok_or_else(|| {
            let known: Vec<String> = self.index.runs().into_iter().take(10).map(|run| run.id).collect();
            let hint = if known.is_empty() {
                "the folder is empty, or still being looked through".to_owned()
            } else {
                format!("the newest are {}; /api/v1/runs lists all", known.join(", "))
            };
            Problem::new(ProblemKind::Missing, format!("there is no run {id}"), hint)
        })
    }
}
