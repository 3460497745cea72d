//! What a kernel does, by its name.

use gpuscope_work::{Products, products};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// One result for each element, copies and casts among them.
    Elementwise,
    /// Sums, means and the like.
    Reduction,
    Normalisation,
    Softmax,
    /// Writes one value everywhere.
    Fill,
    /// Rearranges images between channels first and channels last.
    Layout,
    /// Brings a tensor into another order, whatever it is of.
    Transpose,
    Products(Products),
    /// Several tensors in one kernel.
    ManyTensors,
    /// Not a kernel: a copy from one place of the GPU's memory to another.
    Copy,
    Other,
}

impl Sort {
    pub(super) fn of(kernel: &str) -> Sort {
        let name = kernel.to_ascii_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        if has(&["multi_tensor_apply"]) {
            Sort::ManyTensors
        } else if has(&["nchwtonhwc", "nhwctonchw", "nchw2nhwc", "nhwc2nchw", "batched_transpose_"]) {
            Sort::Layout
        } else if has(&["fillfunctor"]) {
            Sort::Fill
        } else if is_compiled(&name) {
            Sort::Other
        } else if is_transpose(&name) {
            Sort::Transpose
        } else if has(&["softmax"]) {
            Sort::Softmax
        } else if let Some(products) = products(kernel) {
            Sort::Products(products)
        } else if has(NORMALISATIONS) && !has(FUSED_BY_LIBRARIES) {
            Sort::Normalisation
        } else if has(&["at::native::reduce_kernel", "at6native13reduce_kernel"]) {
            Sort::Reduction
        } else if has(ELEMENTWISE) {
            Sort::Elementwise
        } else {
            Sort::Other
        }
    }

    /// Of a copy that is no kernel.
    pub(super) fn of_copy(name: &str) -> Sort {
        if name.contains("DtoD") || name.contains("Device -> Device") { Sort::Copy } else { Sort::Other }
    }

    /// Reads and writes tensors with little to compute: what a compiler fuses with its neighbours.
    pub(super) fn is_fusible(self) -> bool {
        matches!(self, Sort::Elementwise | Sort::Reduction | Sort::Normalisation | Sort::Softmax)
    }
}

/// By the function alone: products have how their operands lie among their arguments.
fn is_transpose(name: &str) -> bool {
    let name = name.strip_prefix("void ").unwrap_or(name);
    let function = name.split(['<', '(']).next().unwrap_or(name);
    let does_more = ["gemm", "conv", "cast", "attention", "norm", "quant", "cijk", "fusion"];
    function.contains("transpose") && !does_more.iter().any(|part| function.contains(part))
}

/// Kernels of Triton and of compilers are fused as far as they go.
fn is_compiled(name: &str) -> bool {
    name.starts_with("triton_") || name.starts_with("_triton") || name.starts_with("fused_")
}

const ELEMENTWISE: &[&str] =
    &["elementwise_kernel", "catarraybatchedcopy", "fused_dropout_kernel", "fused_dropout_kernel_vec"];
const NORMALISATIONS: &[&str] = &[
    "layer_norm",
    "layernorm",
    "batch_norm",
    "batchnorm",
    "group_norm",
    "groupnorm",
    "rowwisemoments",
    "bn_fw_",
    "bn_bw_",
];
/// Kernels that do more than normalise already.
const FUSED_BY_LIBRARIES: &[&str] =
    &["vllm", "aiter", "sgl_", "apex", "transformer_engine", "ck_tile", "flashinfer"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_within_the_gpu_are_known() {
        assert_eq!(Sort::of_copy("Memcpy DtoD (Device -> Device)"), Sort::Copy);
        assert_eq!(Sort::of_copy("Memcpy HtoD (Pageable -> Device)"), Sort::Other);
    }

    #[test]
    fn a_name_tells_the_sort() {
        for (name, sort) in [
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, …>",
                Sort::Elementwise,
            ),
            (
                "void at::native::elementwise_kernel_manual_unroll<128, 8, …direct_copy_kernel_cuda…>",
                Sort::Elementwise,
            ),
            (
                "void at::native::vectorized_elementwise_kernel<8, at::native::FillFunctor<float>, …>",
                Sort::Fill,
            ),
            ("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, …>", Sort::Elementwise),
            ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, …>>", Sort::Reduction),
            (
                "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>",
                Sort::Normalisation,
            ),
            (
                "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 128, true, 1, true>",
                Sort::Normalisation,
            ),
            ("MIOpenBatchNormFwdTrainSpatial", Sort::Normalisation),
            ("void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, …>", Sort::Softmax),
            ("void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, …>", Sort::Layout),
            ("batched_transpose_16x32_half", Sort::Layout),
            ("transpose_NCHW2CNHW_V2_2D_WG_off64", Sort::Transpose),
            ("void transpose_readWrite_alignment_kernel<float2, float2, 1, false>(int)", Sort::Transpose),
            ("void scal_kernel<float, 5, 3>(cublasTransposeParams<float>)", Sort::Other),
            ("void te::cast_transpose_kernel<float>", Sort::Other),
            ("input_transpose_fusion.kd", Sort::Other),
            ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<…>", Sort::ManyTensors),
            ("volta_sgemm_64x64_nt", Sort::Products(Products::Fp32)),
            ("triton_red_fused_native_layer_norm_0", Sort::Other),
            ("void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>", Sort::Other),
            ("_ZN5aiter24add_rmsnorm_quant_kernelI…", Sort::Other),
        ] {
            assert_eq!(Sort::of(name), sort, "{name}");
        }
    }
}
