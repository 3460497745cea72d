//! What a collective does, as far as its name tells: who waits for whom, and how much data crosses a link.

use gpuscope_trace::Ns;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
    /// Every pair of ranks has a size of its own, which may be 0: nobody need wait for all.
    AllToAllV,
    Barrier,
    Broadcast,
    Reduce,
    Gather,
    Scatter,
    Send,
    Recv,
    Other,
}

impl Op {
    /// By the name in the metadata (`_allgather_base`), of the annotation (`nccl:all_reduce`) or of the kernel
    /// (`ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL`), whichever library and release wrote it.
    pub fn of_name(name: &str) -> Op {
        let letters: String =
            name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
        let has = |word: &str| letters.contains(word);
        let own = letters.strip_prefix("nccl").unwrap_or(&letters);
        match () {
            () if has("alltoallv") => Op::AllToAllV,
            () if has("alltoall") => Op::AllToAll,
            () if has("allreduce") || has("crossdevicereduce") => Op::AllReduce,
            () if has("reducescatter") => Op::ReduceScatter,
            () if has("allgather") => Op::AllGather,
            // One kernel for sends, receives and all-to-alls: the name does not tell which.
            () if has("sendrecv") => Op::Other,
            () if has("barrier") => Op::Barrier,
            () if has("broadcast") => Op::Broadcast,
            () if own.starts_with("send") => Op::Send,
            () if own.starts_with("recv") => Op::Recv,
            () if has("gather") => Op::Gather,
            () if has("scatter") => Op::Scatter,
            () if has("reduce") => Op::Reduce,
            () => Op::Other,
        }
    }

    /// Nobody can end before everybody has begun.
    pub fn everyone_waits(self) -> bool {
        self.synchronises() || self == Op::Barrier
    }

    /// Those that say who came late to work they share.
    pub fn synchronises(self) -> bool {
        matches!(self, Op::AllReduce | Op::AllGather | Op::ReduceScatter | Op::AllToAll)
    }

    pub fn is_point_to_point(self) -> bool {
        matches!(self, Op::Send | Op::Recv)
    }

    /// The message as bandwidths count it: the whole of it, which only the output of an all-gather is.
    pub fn message(self, input: Option<i64>, output: Option<i64>) -> Option<i64> {
        if self == Op::AllGather { output } else { input }
    }

    /// Bus bandwidth over algorithm bandwidth among `ranks`, as nccl-tests has it: what each link carries,
    /// so that it can be held against the hardware whatever the collective and the number of ranks.
    pub fn bus_factor(self, ranks: i64) -> Option<f64> {
        let others = (ranks - 1) as f64 / ranks as f64;
        match self {
            _ if ranks < 1 => None,
            Op::AllReduce => Some(2.0 * others),
            Op::AllGather | Op::ReduceScatter | Op::AllToAll | Op::AllToAllV | Op::Gather | Op::Scatter => {
                Some(others)
            }
            Op::Broadcast | Op::Reduce | Op::Send | Op::Recv => Some(1.0),
            Op::Barrier | Op::Other => None,
        }
    }
}

/// Bytes of one element of a type, by its name in `torch`.
pub fn element_bytes(dtype: &str) -> Option<i64> {
    let dtype = dtype.to_ascii_lowercase();
    Some(match dtype.as_str() {
        "bool" | "byte" | "char" | "qint8" | "quint8" => 1,
        "half" | "bfloat16" | "short" | "uint16" => 2,
        "float" | "int" | "uint32" | "qint32" | "complexhalf" => 4,
        "double" | "long" | "uint64" | "complexfloat" => 8,
        "complexdouble" => 16,
        _ if dtype.starts_with("float8") => 1,
        _ => return None,
    })
}

/// Bytes over nanoseconds are gigabytes over seconds.
pub(crate) fn gb_per_s(bytes: Option<i64>, time: Ns) -> Option<f64> {
    (time > Ns::ZERO).then(|| bytes.map(|bytes| bytes as f64 / time.as_f64())).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_naming_is_understood() {
        for (name, op) in [
            ("allreduce", Op::AllReduce),
            ("allreduce_coalesced", Op::AllReduce),
            ("nccl:all_reduce", Op::AllReduce),
            ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", Op::AllReduce),
            ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>", Op::AllReduce),
            ("two_shot_all_reduce_kernel", Op::AllReduce),
            ("_allgather_base", Op::AllGather),
            ("nccl:_all_gather_base", Op::AllGather),
            ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Op::AllGather),
            ("_reduce_scatter_base", Op::ReduceScatter),
            ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", Op::ReduceScatter),
            ("all_to_all", Op::AllToAll),
            ("all_to_allv", Op::AllToAllV),
            ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", Op::Other),
            ("ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", Op::Other),
            ("broadcast", Op::Broadcast),
            ("ncclKernel_Reduce_RING_LL_Sum_float", Op::Reduce),
            ("nccl:send 0->1", Op::Send),
            ("recv", Op::Recv),
            ("barrier", Op::Barrier),
            ("gather", Op::Gather),
            ("", Op::Other),
        ] {
            assert_eq!(Op::of_name(name), op, "{name}");
        }
    }

    #[test]
    fn bandwidths_are_those_of_nccl_tests() {
        assert_eq!(Op::AllReduce.bus_factor(8), Some(1.75));
        assert_eq!(Op::AllGather.bus_factor(8), Some(0.875));
        assert_eq!(Op::Broadcast.bus_factor(8), Some(1.0));
        assert_eq!(Op::AllReduce.bus_factor(0), None);
        assert_eq!(gb_per_s(Some(10), Ns(0)), None);
        assert_eq!(Op::AllGather.message(Some(1), Some(8)), Some(8));
        assert_eq!((element_bytes("BFloat16"), element_bytes("Float8_e4m3fn")), (Some(2), Some(1)));
        assert_eq!(element_bytes("no such type"), None);
    }
}
