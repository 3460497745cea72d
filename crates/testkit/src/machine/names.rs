//! Operators and their kernels, as `PyTorch` and the libraries of both vendors call them.

use super::hardware::Vendor;

/// An operator with the one inside it, its backward function, and its kernel on each vendor's GPUs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operator {
    pub(super) name: &'static str,
    pub(super) inner: Option<&'static str>,
    pub(super) evaluation: &'static str,
    pub(super) backward: &'static str,
    /// The operators inside the backward function; each launches one kernel.
    pub(super) gradients: &'static [&'static str],
    pub(super) cuda: &'static str,
    pub(super) hip: &'static str,
    /// What it takes in percent of a middling kernel.
    pub(super) weight: i64,
}

impl Operator {
    pub(super) fn kernel(&self, vendor: Vendor) -> &'static str {
        match vendor {
            Vendor::Cuda => self.cuda,
            Vendor::Hip => self.hip,
        }
    }
}

pub(super) const OPERATORS: [Operator; 6] = [
    Operator {
        name: "aten::linear",
        inner: Some("aten::addmm"),
        evaluation: "autograd::engine::evaluate_function: AddmmBackward0",
        backward: "AddmmBackward0",
        gradients: &["aten::mm", "aten::mm"],
        cuda: "ampere_sgemm_128x64_tn",
        hip: "Cijk_Alik_Bljk_SB_gemm_MT64x16x32_MI16x16x1_SN",
        weight: 220,
    },
    Operator {
        name: "aten::conv2d",
        inner: Some("aten::cudnn_convolution"),
        evaluation: "autograd::engine::evaluate_function: ConvolutionBackward0",
        backward: "ConvolutionBackward0",
        gradients: &["aten::convolution_backward", "aten::convolution_backward"],
        cuda: "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nchw_tilesize128x128x8",
        hip: "igemm_fwd_gtcx3_nhwc_fp32_bx0_ex0_bt128x128x8_gemm",
        weight: 260,
    },
    Operator {
        name: "aten::layer_norm",
        inner: Some("aten::native_layer_norm"),
        evaluation: "autograd::engine::evaluate_function: NativeLayerNormBackward0",
        backward: "NativeLayerNormBackward0",
        gradients: &["aten::native_layer_norm_backward"],
        cuda: "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>(int, float, float const*, float const*, float const*, float*, float*, float*)",
        hip: "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, true>(int, float, float const*, float const*, float const*, float*, float*, float*)",
        weight: 60,
    },
    Operator {
        name: "aten::softmax",
        inner: Some("aten::_softmax"),
        evaluation: "autograd::engine::evaluate_function: SoftmaxBackward0",
        backward: "SoftmaxBackward0",
        gradients: &["aten::_softmax_backward_data"],
        cuda: "void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, false, false>(float*, float const*, int, int, int, bool const*, int, bool)",
        hip: "void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, false, false>(float*, float const*, int, int, int, bool const*, int, bool)",
        weight: 90,
    },
    Operator {
        name: "aten::gelu",
        inner: None,
        evaluation: "autograd::engine::evaluate_function: GeluBackward0",
        backward: "GeluBackward0",
        gradients: &["aten::gelu_backward"],
        cuda: "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)>(int)",
        hip: "void at::native::vectorized_elementwise_kernel<8, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)>(int)",
        weight: 40,
    },
    Operator {
        name: "aten::add",
        inner: None,
        evaluation: "autograd::engine::evaluate_function: AddBackward0",
        backward: "AddBackward0",
        gradients: &["aten::sum"],
        cuda: "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int)",
        hip: "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)",
        weight: 30,
    },
];

/// An operation between ranks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Collective {
    pub(super) operation: &'static str,
    pub(super) host: &'static str,
    pub(super) annotation: &'static str,
    pub(super) cuda: &'static str,
    pub(super) hip: &'static str,
}

pub(super) const ALL_REDUCE: Collective = Collective {
    operation: "allreduce",
    host: "c10d::allreduce_",
    annotation: "nccl:all_reduce",
    cuda: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    hip: "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)",
};
pub(super) const ALL_GATHER: Collective = Collective {
    operation: "_allgather_base",
    host: "c10d::_allgather_base_",
    annotation: "nccl:_all_gather_base",
    cuda: "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    hip: ALL_REDUCE.hip,
};
pub(super) const REDUCE_SCATTER: Collective = Collective {
    operation: "_reduce_scatter_base",
    host: "c10d::_reduce_scatter_base_",
    annotation: "nccl:_reduce_scatter_base",
    cuda: "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    hip: ALL_REDUCE.hip,
};

pub(super) const OPTIMIZER_KERNEL: &str = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<3>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4> >()";
pub(super) const ARGMAX_KERNEL: &str =
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float> > >()";
pub(super) const LOADER: &str = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
pub(super) const SET: &str = "Memset (Device)";

/// A call in the words of each vendor.
pub(super) fn call(vendor: Vendor, cuda: &'static str) -> &'static str {
    if vendor == Vendor::Cuda {
        return cuda;
    }
    match cuda {
        "cudaLaunchKernel" => "hipLaunchKernel",
        "cudaLaunchKernelExC" => "hipExtLaunchKernel",
        "cudaMemcpyAsync" => "hipMemcpyAsync",
        "cudaMemsetAsync" => "hipMemsetAsync",
        "cudaGraphLaunch" => "hipGraphLaunch",
        "cudaEventRecord" => "hipEventRecord",
        "cudaStreamWaitEvent" => "hipStreamWaitEvent",
        "cudaStreamSynchronize" => "hipStreamSynchronize",
        "cudaDeviceSynchronize" => "hipDeviceSynchronize",
        "cudaEventSynchronize" => "hipEventSynchronize",
        "cudaMalloc" => "hipMalloc",
        "cudaFree" => "hipFree",
        _ => "hipStreamIsCapturing",
    }
}

/// The profiler's number of a call.
pub(super) fn callback(name: &str) -> i64 {
    match name {
        "cudaLaunchKernel" => 211,
        "cudaLaunchKernelExC" => 430,
        "cudaMemcpyAsync" => 41,
        "cudaMemsetAsync" => 51,
        "cudaGraphLaunch" => 311,
        "cudaEventRecord" => 135,
        "cudaStreamWaitEvent" => 147,
        "cudaStreamSynchronize" => 131,
        "cudaDeviceSynchronize" => 165,
        "cudaEventSynchronize" => 137,
        "cudaMalloc" => 20,
        "cudaFree" => 22,
        "hipLaunchKernel" => 107,
        "hipExtLaunchKernel" => 62,
        "hipMemcpyAsync" => 134,
        "hipMemcpyWithStream" => 153,
        "hipMemsetAsync" => 159,
        "hipGraphLaunch" => 215,
        "hipStreamWaitEvent" => 200,
        "hipDeviceSynchronize" => 48,
        _ => 317,
    }
}
