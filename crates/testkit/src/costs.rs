//! How long GPU work takes: floating-point operations and bytes over an H100's sustained speeds, so that a roofline
//! of the written trace is plausible.

use crate::plan::Plan;
use crate::shapes::{HEAD_DIM, VOCABULARY};

const MATMUL_FLOP_PER_NS: i64 = 600_000;
const ATTENTION_FLOP_PER_NS: i64 = 350_000;
const BYTES_PER_NS: i64 = 2_400;
const LINK_BYTES_PER_NS: i64 = 380;
const KERNEL_FLOOR_NS: i64 = 1_900;
const TRANSFER_FLOOR_NS: i64 = 14_000;

/// Sizes and times of one model on one rank.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Costs {
    pub(crate) hidden: i64,
    pub(crate) tokens: i64,
    sequence: i64,
}

impl Costs {
    pub(crate) fn new(plan: &Plan) -> Costs {
        Costs {
            hidden: plan.hidden.max(HEAD_DIM) as i64,
            tokens: (plan.batch * plan.sequence).max(1) as i64,
            sequence: plan.sequence.max(1) as i64,
        }
    }

    pub(crate) fn matmul(&self, inputs: i64, outputs: i64) -> i64 {
        KERNEL_FLOOR_NS + 2 * self.tokens * inputs * outputs / MATMUL_FLOP_PER_NS
    }

    pub(crate) fn attention(&self) -> i64 {
        KERNEL_FLOOR_NS + 2 * self.tokens * self.sequence * self.hidden / ATTENTION_FLOP_PER_NS
    }

    /// A kernel that reads or writes so many bytes.
    pub(crate) fn streaming(bytes: i64) -> i64 {
        KERNEL_FLOOR_NS + bytes / BYTES_PER_NS
    }

    /// Bytes of one activation of `width` per token.
    pub(crate) fn activation(&self, width: i64) -> i64 {
        2 * self.tokens * width
    }

    pub(crate) fn logits(&self) -> i64 {
        self.activation(VOCABULARY as i64)
    }

    /// Weights of one transformer block.
    pub(crate) fn block_weights(&self) -> i64 {
        12 * self.hidden * self.hidden
    }

    pub(crate) fn embedding_weights(&self) -> i64 {
        VOCABULARY as i64 * self.hidden
    }

    /// A ring collective over `members` that moves `bytes` `passes` times.
    pub(crate) fn ring(bytes: i64, members: i64, passes: i64) -> i64 {
        TRANSFER_FLOOR_NS + passes * bytes / LINK_BYTES_PER_NS * (members - 1) / members.max(1)
    }

    pub(crate) fn point_to_point(bytes: i64) -> i64 {
        TRANSFER_FLOOR_NS + bytes / LINK_BYTES_PER_NS
    }
}
