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
    first_pipeline: usize,
    first_tensor: usize,
    first_experts: Option<usize>,
}

impl Groups {
    pub(crate) fn new(plan: &Plan) -> Groups {
        let (stages, replicas, tensor) = (plan.stage_count(), plan.replicas(), plan.tensor_size());
        let mut all =
            vec![Group { name: "0".into(), description: "default_pg", ranks: (0..plan.world()).collect() }];
        let mut add = |description, ranks| {
            all.push(Group { name: all.len().to_string(), description, ranks });
            all.len()
        };
        let mut first_pipeline = 0;
        if stages > 1 || tensor > 1 {
            for first in (0..stages).flat_map(|stage| (0..tensor).map(move |part| stage * replicas + part)) {
                let ranks = (0..replicas / tensor).map(|replica| first + replica * tensor).collect();
                first_pipeline = add("dp", ranks);
            }
        }
        let mut first_tensor = first_pipeline;
        if stages > 1 {
            for replica in 0..replicas {
                first_tensor = add("pp", (0..stages).map(|stage| stage * replicas + replica).collect());
            }
        }
        if tensor > 1 {
            for first in (0..plan.world()).step_by(tensor as usize) {
                add("tp", (first..first + tensor).collect());
            }
        }
        let first_experts = plan.experts.then_some(all.len());
        if plan.experts {
            for stage in 0..stages {
                let ranks = (stage * replicas..(stage + 1) * replicas).collect();
                all.push(Group { name: all.len().to_string(), description: "ep", ranks });
            }
        }
        Groups { all, first_pipeline, first_tensor, first_experts }
    }

    /// The group that shares a rank's gradients.
    pub(crate) fn data_parallel(&self, plan: &Plan, rank: u32) -> usize {
        let tensor = plan.tensor_size();
        if self.first_pipeline == 0 {
            0
        } else {
            1 + (plan.stage_of(rank) * tensor + rank % plan.replicas() % tensor) as usize
        }
    }

    /// The group of the stages that pass a rank's activations on.
    pub(crate) fn pipeline(&self, plan: &Plan, rank: u32) -> usize {
        self.first_pipeline + (rank % plan.replicas()) as usize
    }

    /// The group that shares a rank's blocks; none if it has them to itself.
    pub(crate) fn tensor_parallel(&self, plan: &Plan, rank: u32) -> Option<usize> {
        let tensor = plan.tensor_size();
        (tensor > 1).then(|| self.first_tensor + (rank / tensor) as usize)
    }

    /// The group that exchanges tokens; none without experts.
    pub(crate) fn experts(&self, plan: &Plan, rank: u32) -> Option<usize> {
        self.first_experts.map(|first| first + plan.stage_of(rank) as usize)
    }
}
