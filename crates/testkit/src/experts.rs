//! Experts: each rank holds some, and tokens go to the rank that holds theirs and back.

use crate::action::TransferSpec;
use crate::catalog;
use crate::costs::Costs;
use crate::event::{Name, Stream};
use crate::plan::Plan;
use crate::program::{Builder, TOKENS_THERE};
use crate::rng::mix;

/// How many tokens each rank sends to each other in one exchange.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Routing {
    key: u64,
    tokens: u64,
    /// Whether tokens come back from where this routing sent them.
    back: bool,
}

impl Routing {
    /// Tokens that one member sends to another, both by their place in the group; now and then none.
    fn tokens(&self, from: usize, to: usize) -> i64 {
        let (from, to) = if self.back { (to, from) } else { (from, to) };
        let chance = mix(mix(self.key ^ ((from as u64) << 32)) ^ to as u64);
        if chance.is_multiple_of(8) { 0 } else { (chance % self.tokens.max(1)) as i64 }
    }

    pub(crate) fn sent(&self, from: usize, members: usize) -> Vec<i64> {
        (0..members).map(|to| self.tokens(from, to)).collect()
    }

    pub(crate) fn received(&self, to: usize, members: usize) -> Vec<i64> {
        (0..members).map(|from| self.tokens(from, to)).collect()
    }
}

impl Plan {
    /// Spreads experts over the ranks of each stage: around every `MLP`, tokens go to other ranks and back, each pair of
    /// ranks with a number of its own.
    #[must_use]
    pub fn with_experts(mut self) -> Plan {
        self.experts = true;
        self
    }
}

/// Sends tokens to their experts; what is computed next needs them. A replayed graph has no transfers.
pub(crate) fn dispatch(builder: &mut Builder<'_>) {
    exchange(builder, false);
}

/// Sends them back from where the last dispatch took them.
pub(crate) fn combine(builder: &mut Builder<'_>) {
    exchange(builder, true);
}

fn exchange(builder: &mut Builder<'_>, back: bool) {
    let Some(group) = builder.groups.experts(builder.plan, builder.rank) else { return };
    if builder.graph.is_some() {
        return;
    }
    let ranks = &builder.groups.all[group].ranks;
    let Some(own) = ranks.iter().position(|&rank| rank == builder.rank) else { return };
    let members = ranks.len();
    builder.dispatches += u64::from(!back);
    let place = (u64::from(builder.step) << 24) ^ ((group as u64) << 56) ^ builder.dispatches;
    let tokens = 2 * builder.costs.tokens as u64 / members as u64;
    let routing = Routing { key: mix(builder.plan.seed) ^ place, tokens, back };
    let elements = |tokens: &[i64]| tokens.iter().sum::<i64>() * builder.costs.hidden;
    let most = (0..members).map(|from| elements(&routing.sent(from, members))).max().unwrap_or(0);
    let transfer = TransferSpec {
        spec: &catalog::SEND_RECV,
        name: "all_to_allv",
        annotation: Name::plain("nccl:all_to_all"),
        group,
        stream: Stream::TensorParallel,
        in_elements: elements(&routing.sent(own, members)),
        out_elements: elements(&routing.received(own, members)),
        peers: None,
        routing: Some(routing),
        ns: Costs::point_to_point(2 * most),
    };
    builder.transfer(transfer, true, TOKENS_THERE);
    builder.compute_waits(TOKENS_THERE);
}
