//! Which operator is of which family: the built-in models.

use crate::families::Family;
use crate::families::gemm::Gemm;

/// Operators that share a category and a way of counting.
pub(crate) struct Group {
    pub(crate) category: &'static str,
    pub(crate) family: Family,
    pub(crate) names: &'static [&'static str],
}

const fn gemm(gemm: Gemm, names: &'static [&'static str]) -> Group {
    Group { category: "GEMM", family: Family::Gemm(gemm), names }
}

pub(crate) const GROUPS: &[Group] = &[
    gemm(
        Gemm::MM,
        &[
            "aten::mm",
            "aten::bmm",
            "_Linear_yfwd_mm",
            "_LinearBackward_xgrad_mm",
            "_LinearBackward_wgrad_mm",
            "_LayerNormLinear_yfwd_mm",
            "_LayerNormLinearBackward_xgrad_mm",
            "_LayerNormLinearBackward_wgrad_mm",
        ],
    ),
    gemm(Gemm::ADDMM, &["aten::addmm", "aten::baddbmm", "aten::_addmm_activation"]),
    gemm(Gemm::WIDE_MM, &["aten::_int_mm"]),
    gemm(Gemm::SCALED_MM, &["aten::_scaled_mm"]),
    gemm(Gemm::TRTLLM, &["trtllm::cublas_scaled_mm"]),
    gemm(
        Gemm::SGL,
        &["sgl_kernel::fp8_scaled_mm", "sgl_kernel::int8_scaled_mm", "sgl_kernel::fp8_blockwise_scaled_mm"],
    ),
    gemm(Gemm::CUTLASS, &["_C::cutlass_scaled_mm"]),
    gemm(Gemm::LINEAR, &["vllm::rocm_unquantized_gemm", "sglang_profiler::gemm_kernels_flydsl_hgemm"]),
    gemm(Gemm::LINEAR_PLAIN, &["bitsandbytes::int8_linear_matmul"]),
    gemm(Gemm::A16W16, &["aiter::gemm_a16w16", "aiter::gemm_a16w16_atomic_", "aiter::_gemm_a16w16_asm"]),
    gemm(
        Gemm::A8W8,
        &[
            "aiter::gemm_a8w8_bpreshuffle",
            "sglang_profiler::batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant_batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant",
            "sglang_profiler::fp8_utils_gemm_a8w8_blockscale",
            "sglang_profiler::gemm_a8w8_blockscale_gemm_a8w8_blockscale",
            "vllm::_rocm_aiter_preshuffled_per_token_w8a8_gemm",
            "vllm::rocm_aiter_gemm_a8w8_blockscale",
            "vllm::rocm_aiter_triton_gemm_a8w8_blockscale",
            "vllm::w8a8_triton_block_scaled_mm_func",
        ],
    ),
    gemm(
        Gemm::A8W8_INTO,
        &[
            "aiter::_gemm_a8w8_blockscale_bpreshuffle_asm",
            "aiter::flatmm_a8w8_blockscale_asm",
            "aiter::gemm_a8w8_blockscale_bpreshuffle_ck",
            "aiter::gemm_a8w8_blockscale_bpreshuffle_cktile",
            "aiter::gemm_a8w8_blockscale_ck",
            "aiter::gemm_a8w8_blockscale_cktile",
            "aiter::gemm_a8w8_bpreshuffle_ck",
            "aiter::gemm_a8w8_ck",
            "aiter::gfx950_a8w8_blockscale_asm",
        ],
    ),
    gemm(Gemm::A4W4, &["aiter::gemm_a4w4", "aiter::_gemm_a4w4_asm", "aiter::gemm_afp4wfp4_"]),
    gemm(Gemm::W4, &["aiter::batched_gemm_a16wfp4_", "vllm::gemm_with_dynamic_quant"]),
    gemm(
        Gemm::HIPBLASLT_FP8,
        &["primus_turbo_cpp_extension::hipblaslt_gemm_fp8", "primus_turbo::hipblaslt_gemm_fp8"],
    ),
    gemm(
        Gemm::HIPBLASLT_FP4,
        &["primus_turbo_cpp_extension::hipblaslt_gemm_fp4", "primus_turbo::hipblaslt_gemm_fp4"],
    ),
    gemm(Gemm::TRANSFORMER_ENGINE, &["tex_ts::te_gemm_ts"]),
];
