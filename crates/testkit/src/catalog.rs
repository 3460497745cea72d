//! The names real traces carry: kernels with their launch geometry, runtime calls, copies.

/// A GPU kernel as CUPTI describes it.
#[derive(Debug, PartialEq)]
pub(crate) struct KernelSpec {
    pub(crate) name: &'static str,
    pub(crate) registers: u32,
    pub(crate) shared_memory: u32,
    pub(crate) blocks_per_sm: &'static str,
    pub(crate) warps_per_sm: &'static str,
    pub(crate) grid: &'static str,
    pub(crate) block: &'static str,
    pub(crate) occupancy: u32,
    pub(crate) communication: bool,
}

const fn gemm(name: &'static str, grid: &'static str) -> KernelSpec {
    KernelSpec {
        name,
        registers: 168,
        shared_memory: 231_424,
        blocks_per_sm: "1.000000",
        warps_per_sm: "12.000000",
        grid,
        block: "[384, 1, 1]",
        occupancy: 19,
        communication: false,
    }
}

const fn pointwise(name: &'static str) -> KernelSpec {
    KernelSpec {
        name,
        registers: 32,
        shared_memory: 0,
        blocks_per_sm: "124.121216",
        warps_per_sm: "496.484863",
        grid: "[16384, 1, 1]",
        block: "[128, 1, 1]",
        occupancy: 100,
        communication: false,
    }
}

const fn reduction(name: &'static str) -> KernelSpec {
    KernelSpec {
        name,
        registers: 40,
        shared_memory: 4112,
        blocks_per_sm: "31.030304",
        warps_per_sm: "124.121216",
        grid: "[4096, 1, 1]",
        block: "[32, 4, 1]",
        occupancy: 75,
        communication: false,
    }
}

const fn nccl(name: &'static str) -> KernelSpec {
    KernelSpec {
        name,
        registers: 96,
        shared_memory: 82_240,
        blocks_per_sm: "0.181818",
        warps_per_sm: "3.090909",
        grid: "[24, 1, 1]",
        block: "[544, 1, 1]",
        occupancy: 0,
        communication: true,
    }
}

pub(crate) static GEMM_FORWARD: KernelSpec =
    gemm("nvjet_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNN", "[132, 1, 1]");
pub(crate) static GEMM_INPUT_GRADIENT: KernelSpec = gemm(
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
    "[32, 32, 1]",
);
pub(crate) static GEMM_WEIGHT_GRADIENT: KernelSpec = gemm(
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize128x256x64_warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_cublas",
    "[32, 16, 1]",
);
pub(crate) static FLASH_FORWARD: KernelSpec = gemm(
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t, Flash_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t> >, false, true, false, false, true, true, false, false>(pytorch_flash::Flash_fwd_params)",
    "[16, 2, 32]",
);
/// The same kernel with a block for only 32 of 132 multiprocessors.
pub(crate) static FLASH_FORWARD_NARROW: KernelSpec = KernelSpec {
    blocks_per_sm: "0.242424",
    warps_per_sm: "2.909091",
    occupancy: 5,
    ..gemm(FLASH_FORWARD.name, "[16, 1, 2]")
};
pub(crate) static FLASH_BACKWARD: KernelSpec = gemm(
    "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8, 2, 4, 2, false, false, cutlass::bfloat16_t, Flash_kernel_traits<128, 64, 128, 8, cutlass::bfloat16_t> >, false, true, false, false, false, true, false>(pytorch_flash::Flash_bwd_params)",
    "[16, 2, 32]",
);
pub(crate) static LAYER_NORM_FORWARD: KernelSpec = reduction(
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, false>(int, float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)",
);
pub(crate) static LAYER_NORM_BACKWARD_INPUT: KernelSpec = reduction(
    "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float, false>(c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16 const*, c10::BFloat16*, int)",
);
pub(crate) static LAYER_NORM_BACKWARD_WEIGHT: KernelSpec = reduction(
    "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<c10::BFloat16, float, 32u, 32u, 256u, true, false, true, false>(long, long, c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16*, c10::BFloat16*)",
);
pub(crate) static GELU_FORWARD: KernelSpec = pointwise(
    "void at::native::vectorized_elementwise_kernel<8, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul>)",
);
pub(crate) static GELU_BACKWARD: KernelSpec = pointwise(
    "void at::native::vectorized_elementwise_kernel<8, at::native::GeluBackwardCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16, c10::BFloat16)#1}, std::array<char*, 3ul> >(int, at::native::GeluBackwardCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16, c10::BFloat16)#1}, std::array<char*, 3ul>)",
);
pub(crate) static ADD: KernelSpec = pointwise(
    "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)",
);
pub(crate) static BIAS_GRADIENT: KernelSpec = reduction(
    "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, at::native::func_wrapper_t<c10::BFloat16, at::native::sum_functor<c10::BFloat16, float, c10::BFloat16>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, c10::BFloat16, 4, 4> >(at::native::ReduceOp<c10::BFloat16, at::native::func_wrapper_t<c10::BFloat16, at::native::sum_functor<c10::BFloat16, float, c10::BFloat16>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, c10::BFloat16, 4, 4>)",
);
pub(crate) static EMBEDDING_FORWARD: KernelSpec = pointwise(
    "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, at::cuda::detail::TensorInfo<c10::BFloat16 const, unsigned int>, at::cuda::detail::TensorInfo<long const, unsigned int>, int, int, unsigned int, unsigned int, long)",
);
pub(crate) static EMBEDDING_BACKWARD: KernelSpec = pointwise(
    "void at::native::(anonymous namespace)::embedding_backward_feature_kernel<c10::BFloat16, float, long>(long const*, c10::BFloat16 const*, c10::BFloat16*, int, long, int)",
);
pub(crate) static SOFTMAX_FORWARD: KernelSpec = reduction(
    "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, float, at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*, c10::BFloat16 const*, int)",
);
pub(crate) static SOFTMAX_BACKWARD: KernelSpec = reduction(
    "void at::native::(anonymous namespace)::cunn_SoftMaxBackward<8, c10::BFloat16, float, float, at::native::(anonymous namespace)::LogSoftMaxBackwardEpilogue>(c10::BFloat16*, float const*, float const*, long)",
);
pub(crate) static NLL_LOSS: KernelSpec = reduction(
    "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(float*, float*, float const*, long const*, float const*, bool, long, long, long, long)",
);
pub(crate) static ADAM: KernelSpec = pointwise(
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float const*, double, double, double, double, double, bool, float*, float*>(at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float const*, double, double, double, double, double, bool, float*, float*)",
);
pub(crate) static GRADIENT_NORM: KernelSpec = reduction(
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::LpNormFunctor<c10::BFloat16, (at::native::NormType)1, float, 1, 1, 0>, float*, int>(at::native::(anonymous namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::LpNormFunctor<c10::BFloat16, (at::native::NormType)1, float, 1, 1, 0>, float*, int)",
);
pub(crate) static EMPTY: KernelSpec = KernelSpec {
    name: "triton_poi_fused_empty_0",
    registers: 16,
    shared_memory: 0,
    blocks_per_sm: "0.007576",
    warps_per_sm: "0.030303",
    grid: "[1, 1, 1]",
    block: "[128, 1, 1]",
    occupancy: 0,
    communication: false,
};
const fn small(name: &'static str) -> KernelSpec {
    KernelSpec {
        blocks_per_sm: "0.060606",
        warps_per_sm: "0.242424",
        grid: "[8, 1, 1]",
        occupancy: 0,
        ..pointwise(name)
    }
}

pub(crate) static SMALL: [KernelSpec; 4] = [
    small(
        "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul>)",
    ),
    small(
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
    ),
    small(
        "void at::native::vectorized_elementwise_kernel<4, at::native::neg_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int, at::native::neg_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>)",
    ),
    small(
        "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::DivFunctor<float> >, std::array<char*, 3ul> >(int, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::DivFunctor<float> >, std::array<char*, 3ul>)",
    ),
];
pub(crate) static COMPILED: KernelSpec = pointwise("triton_poi_fused_add_mul_0");
pub(crate) static ALL_REDUCE: KernelSpec =
    nccl("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
pub(crate) static ALL_GATHER: KernelSpec =
    nccl("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
pub(crate) static REDUCE_SCATTER: KernelSpec =
    nccl("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
pub(crate) static SEND_RECV: KernelSpec = nccl("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)");

/// A CUDA runtime function and its CUPTI callback id.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RuntimeCall {
    pub(crate) name: &'static str,
    pub(crate) cbid: u32,
    pub(crate) host_ns: i64,
}

pub(crate) const LAUNCH: RuntimeCall = RuntimeCall { name: "cudaLaunchKernel", cbid: 211, host_ns: 4_300 };
pub(crate) const LAUNCH_EX: RuntimeCall =
    RuntimeCall { name: "cudaLaunchKernelExC", cbid: 430, host_ns: 5_200 };
pub(crate) const GRAPH_LAUNCH: RuntimeCall =
    RuntimeCall { name: "cudaGraphLaunch", cbid: 311, host_ns: 38_000 };
pub(crate) const MEMCPY: RuntimeCall = RuntimeCall { name: "cudaMemcpyAsync", cbid: 41, host_ns: 7_900 };
pub(crate) const BLOCKING_MEMCPY: RuntimeCall = RuntimeCall { name: "cudaMemcpy", cbid: 31, host_ns: 6_400 };
pub(crate) const MEMSET: RuntimeCall = RuntimeCall { name: "cudaMemsetAsync", cbid: 51, host_ns: 5_100 };
pub(crate) const EVENT_RECORD: RuntimeCall =
    RuntimeCall { name: "cudaEventRecordWithFlags", cbid: 370, host_ns: 1_200 };
pub(crate) const STREAM_WAIT: RuntimeCall =
    RuntimeCall { name: "cudaStreamWaitEvent", cbid: 147, host_ns: 1_100 };
pub(crate) const EVENT_SYNC: RuntimeCall =
    RuntimeCall { name: "cudaEventSynchronize", cbid: 137, host_ns: 3_400 };
pub(crate) const STREAM_SYNC: RuntimeCall =
    RuntimeCall { name: "cudaStreamSynchronize", cbid: 131, host_ns: 3_800 };
pub(crate) const DEVICE_SYNC: RuntimeCall =
    RuntimeCall { name: "cudaDeviceSynchronize", cbid: 165, host_ns: 4_100 };
pub(crate) const MALLOC: RuntimeCall = RuntimeCall { name: "cudaMalloc", cbid: 20, host_ns: 90_000 };
pub(crate) const FREE: RuntimeCall = RuntimeCall { name: "cudaFree", cbid: 22, host_ns: 60_000 };

/// Where a copy goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum CopyKind {
    HostToDevice,
    PageableToDevice,
    DeviceToHost,
    DeviceToDevice,
}

/// What the driver moves per nanosecond if it must first copy the host's memory to where the device can reach it.
const PAGEABLE_BYTES_PER_NS: i64 = 6;

impl CopyKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            CopyKind::HostToDevice => "Memcpy HtoD (Pinned -> Device)",
            CopyKind::PageableToDevice => "Memcpy HtoD (Pageable -> Device)",
            CopyKind::DeviceToHost => "Memcpy DtoH (Device -> Pinned)",
            CopyKind::DeviceToDevice => "Memcpy DtoD (Device -> Device)",
        }
    }

    /// How many bytes a pageable copy moves in that time.
    pub(crate) fn pageable_bytes_in(ns: i64) -> i64 {
        (ns - 1_300).max(0) * PAGEABLE_BYTES_PER_NS
    }

    /// Fixed cost plus bytes over the link's speed.
    pub(crate) fn ns(self, bytes: i64) -> i64 {
        match self {
            CopyKind::HostToDevice | CopyKind::DeviceToHost => 1_300 + bytes / 52,
            CopyKind::PageableToDevice => 1_300 + bytes / PAGEABLE_BYTES_PER_NS,
            CopyKind::DeviceToDevice => 1_200 + bytes / 1_300,
        }
    }
}

pub(crate) const MEMSET_NAME: &str = "Memset (Device)";
