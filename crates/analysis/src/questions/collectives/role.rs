//! What a process group is for: tensor, data, pipeline, expert or context parallelism.
//!
//! The job's own words decide, whichever framework chose them (`tp`, `mesh_dp_shard`, `PIPELINE_MODEL_PARALLEL_GROUP`).
//! Where there are none, what the group does and who belongs to it tells, and the answer says that this was inferred.

use serde::Serialize;

use super::matched::Matched;
use super::op::Op;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Role {
    #[serde(rename = "tp")]
    Tensor,
    #[serde(rename = "dp")]
    Data,
    #[serde(rename = "pp")]
    Pipeline,
    #[serde(rename = "ep")]
    Expert,
    #[serde(rename = "cp")]
    Context,
}

/// How the role is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleFrom {
    Description,
    /// Only sends and receives make a pipeline, all-to-alls exchange tokens between experts.
    Operations,
    /// All ranks, neighbours, or every n-th rank.
    Members,
    Unknown,
}

impl Role {
    pub fn label(self) -> &'static str {
        match self {
            Role::Tensor => "tp",
            Role::Data => "dp",
            Role::Pipeline => "pp",
            Role::Expert => "ep",
            Role::Context => "cp",
        }
    }

    fn of_description(text: &str) -> Option<Role> {
        let text = text.to_ascii_lowercase();
        let words: Vec<&str> =
            text.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty()).collect();
        let has = |known: &[&str]| words.iter().any(|word| known.contains(word));
        match () {
            () if has(&["pp", "pipeline", "pipe"]) => Some(Role::Pipeline),
            () if has(&["dp", "data", "ddp", "fsdp", "hsdp", "edp"]) => Some(Role::Data),
            () if has(&["tp", "tensor", "etp"]) => Some(Role::Tensor),
            () if has(&["ep", "expert", "moe"]) => Some(Role::Expert),
            () if has(&["cp", "context", "sp", "sequence", "ulysses", "ring", "dcp"]) => Some(Role::Context),
            () if has(&["mp", "model"]) => Some(Role::Tensor),
            () => None,
        }
    }
}

impl RoleFrom {
    pub fn label(self) -> &'static str {
        match self {
            RoleFrom::Description => "description",
            RoleFrom::Operations => "operations",
            RoleFrom::Members => "members",
            RoleFrom::Unknown => "unknown",
        }
    }
}

/// The role of each group.
pub(super) fn of(matched: &Matched) -> Vec<(Option<Role>, RoleFrom)> {
    let mut ops: Vec<Vec<Op>> = vec![Vec::new(); matched.groups.len()];
    for sort in &matched.sorts {
        let ops = &mut ops[sort.group as usize];
        if !ops.contains(&sort.op) {
            ops.push(sort.op);
        }
    }
    let size = |members: &[u32]| members.len() as i64;
    let shared = matched.groups.iter().filter(|group| group.members.len() > 1).count();
    let world = matched.world_size.unwrap_or(matched.ranks.len() as i64);
    let role = |(group, ops): (&super::Group, Vec<Op>)| {
        if let Some(role) = group.description.as_deref().and_then(Role::of_description) {
            return (Some(role), RoleFrom::Description);
        }
        if ops.iter().any(|op| matches!(op, Op::AllToAll | Op::AllToAllV)) {
            return (Some(Role::Expert), RoleFrom::Operations);
        }
        if ops.iter().all(|op| op.is_point_to_point()) && !ops.is_empty() {
            return (Some(Role::Pipeline), RoleFrom::Operations);
        }
        let members = group.members.as_slice();
        let role = match stride(members) {
            // One group of all ranks is what a job has that does nothing but share batches.
            Some(_) if size(members) >= world => (shared == 1).then_some(Role::Data),
            Some(1) => Some(Role::Tensor),
            Some(_) => Some(Role::Data),
            None => None,
        };
        (role, if role.is_some() { RoleFrom::Members } else { RoleFrom::Unknown })
    };
    matched.groups.iter().zip(ops).map(role).collect()
}

/// How far apart the members are, if evenly.
fn stride(members: &[u32]) -> Option<u32> {
    let mut steps = members.windows(2).map(|pair| pair[1] - pair[0]);
    let first = steps.next()?;
    steps.all(|step| step == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frameworks_words_are_understood() {
        for (text, role) in [
            ("tp", Some(Role::Tensor)),
            ("mesh_tp", Some(Role::Tensor)),
            ("TENSOR_MODEL_PARALLEL_GROUP", Some(Role::Tensor)),
            ("mesh_dp_shard", Some(Role::Data)),
            ("DATA_PARALLEL_GROUP_WITH_CP", Some(Role::Data)),
            ("EXPERT_DATA_PARALLEL_GROUP", Some(Role::Data)),
            ("EXPERT_MODEL_PARALLEL_GROUP", Some(Role::Expert)),
            ("PIPELINE_MODEL_PARALLEL_GROUP", Some(Role::Pipeline)),
            ("pp:0", Some(Role::Pipeline)),
            ("ep", Some(Role::Expert)),
            ("mesh_cp", Some(Role::Context)),
            ("default_pg", None),
            ("", None),
        ] {
            assert_eq!(Role::of_description(text), role, "{text}");
        }
    }

    #[test]
    fn members_are_evenly_apart_or_not() {
        assert_eq!(stride(&[0, 1, 2, 3]), Some(1));
        assert_eq!(stride(&[1, 5, 9]), Some(4));
        assert_eq!((stride(&[1, 5, 8]), stride(&[3])), (None, None));
    }
}
