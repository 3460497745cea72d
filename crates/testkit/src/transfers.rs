//! Where ranks meet: gradient reductions, weight gathers, and the sends and receives between pipeline stages.

use crate::action::TransferSpec;
use crate::catalog;
use crate::costs::Costs;
use crate::event::{Name, Stream};
use crate::plan::Sharding;
use crate::program::{Builder, COMM_DONE, SUMS_READY, WEIGHTS_READY};
use crate::purpose::Phase;

/// Reduces the gradients of so many blocks over the ranks that share them.
pub(crate) fn reduce_gradients(builder: &mut Builder<'_>, layers: u32) {
    let group = builder.groups.data_parallel(builder.plan, builder.rank);
    let members = builder.groups.all[group].ranks.len() as i64;
    let elements = builder.costs.block_weights() * i64::from(layers);
    let transfer = match builder.plan.sharding {
        Sharding::Replicated => TransferSpec {
            spec: &catalog::ALL_REDUCE,
            name: "allreduce",
            annotation: Name::plain("nccl:all_reduce"),
            group,
            stream: Stream::Communication,
            in_elements: elements,
            out_elements: elements,
            peers: None,
            routing: None,
            ns: Costs::ring(2 * elements, members, 2),
        },
        Sharding::Sharded => TransferSpec {
            spec: &catalog::REDUCE_SCATTER,
            name: "_reduce_scatter_base",
            annotation: Name::plain("nccl:_reduce_scatter_base"),
            group,
            stream: Stream::Communication,
            in_elements: elements,
            out_elements: elements / members,
            peers: None,
            routing: None,
            ns: Costs::ring(2 * elements, members, 1),
        },
    };
    let before = builder.phase(Phase::GradientCommunication);
    builder.transfer(transfer, true, COMM_DONE);
    builder.phase(before);
}

/// Collects one block's weights; those of the first block must have been updated before.
pub(crate) fn gather_weights(builder: &mut Builder<'_>, first: bool) {
    let group = builder.groups.data_parallel(builder.plan, builder.rank);
    let members = builder.groups.all[group].ranks.len() as i64;
    let elements = builder.costs.block_weights();
    let transfer = TransferSpec {
        spec: &catalog::ALL_GATHER,
        name: "_allgather_base",
        annotation: Name::plain("nccl:_all_gather_base"),
        group,
        stream: Stream::Communication,
        in_elements: elements / members,
        out_elements: elements,
        peers: None,
        routing: None,
        ns: Costs::ring(2 * elements, members, 1),
    };
    builder.transfer(transfer, first, WEIGHTS_READY);
}

/// What is computed next needs the weights collected last.
pub(crate) fn wait_for_weights(builder: &mut Builder<'_>) {
    builder.compute_waits(WEIGHTS_READY);
}

/// Adds up what the ranks that share a block have each computed of an activation or its gradient; what is computed next
/// needs it. A replayed graph has no transfers.
pub(crate) fn add_up_activations(builder: &mut Builder<'_>) {
    let Some(group) = builder.groups.tensor_parallel(builder.plan, builder.rank) else { return };
    if builder.graph.is_some() {
        return;
    }
    let members = builder.groups.all[group].ranks.len() as i64;
    let elements = builder.costs.tokens * builder.costs.hidden;
    let transfer = TransferSpec {
        spec: &catalog::ALL_REDUCE,
        name: "allreduce",
        annotation: Name::plain("nccl:all_reduce"),
        group,
        stream: Stream::TensorParallel,
        in_elements: elements,
        out_elements: elements,
        peers: None,
        routing: None,
        ns: Costs::ring(2 * elements, members, 2),
    };
    builder.transfer(transfer, true, SUMS_READY);
    builder.compute_waits(SUMS_READY);
}

/// Passes an activation or its gradient on to another stage.
pub(crate) fn send(builder: &mut Builder<'_>, to_stage: u32) {
    let peer = peer_in(builder, to_stage);
    let transfer = point_to_point(builder, "send", "nccl:send", (builder.rank, peer));
    builder.transfer(transfer, true, COMM_DONE);
}

/// Takes an activation or its gradient from another stage; what is computed next needs it.
pub(crate) fn receive(builder: &mut Builder<'_>, from_stage: u32) {
    let peer = peer_in(builder, from_stage);
    let transfer = point_to_point(builder, "recv", "nccl:recv", (peer, builder.rank));
    builder.transfer(transfer, false, COMM_DONE);
    builder.compute_waits(COMM_DONE);
}

fn peer_in(builder: &Builder<'_>, stage: u32) -> u32 {
    let replicas = builder.plan.replicas();
    stage * replicas + builder.rank % replicas
}

fn point_to_point(
    builder: &Builder<'_>,
    name: &'static str,
    annotation: &'static str,
    peers: (u32, u32),
) -> TransferSpec {
    let elements = builder.costs.tokens * builder.costs.hidden;
    TransferSpec {
        spec: &catalog::SEND_RECV,
        name,
        annotation: Name::plain(annotation),
        group: builder.groups.pipeline(builder.plan, builder.rank),
        stream: Stream::Communication,
        in_elements: elements,
        out_elements: elements,
        peers: Some(peers),
        routing: None,
        ns: Costs::point_to_point(2 * elements),
    }
}
