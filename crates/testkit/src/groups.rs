//! Which ranks talk to each other: the process groups of a job.

use crate::plan::Plan;

/// A process group.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) description: &'static str,
    pub(crate) ranks: Vec<u32>,
}

/// The process groups of a job; the first holds all ranks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Groups {
    pub(crate) all: Vec<Group>,
    stages: u32,
}

impl Groups {
    pub(crate) fn new(plan: &Plan) -> Groups {
        let (stages, replicas) = (plan.stage_count(), plan.replicas());
        let mut all =
            vec![Group { name: "0".into(), description: "default_pg", ranks: (0..plan.world()).collect() }];
        if stages > 1 {
            for stage in 0..stages {
                let ranks = (stage * replicas..(stage + 1) * replicas).collect();
                all.push(Group { name: all.len().to_string(), description: "dp", ranks });
            }
            for replica in 0..replicas {
                let ranks = (0..stages).map(|stage| stage * replicas + replica).collect();
                all.push(Group { name: all.len().to_string(), description: "pp", ranks });
            }
        }
        Groups { all, stages }
    }

    /// The group that shares a rank's gradients.
    pub(crate) fn data_parallel(&self, plan: &Plan, rank: u32) -> usize {
        if self.stages > 1 { 1 + plan.stage_of(rank) as usize } else { 0 }
    }

    /// The group of the stages that pass a rank's activations on.
    pub(crate) fn pipeline(&self, plan: &Plan, rank: u32) -> usize {
        1 + self.stages as usize + (rank % plan.replicas()) as usize
    }
}
