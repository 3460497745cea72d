//! Operators that keep the matrix units busy.

use super::{Group, group};
use crate::families::attention::Attention;
use crate::families::conv::{self, Conv};
use crate::families::gemm::Gemm;
use crate::families::moe::Moe;
use crate::families::{Family, grouped};

const fn gemm(gemm: Gemm, names: &'static [&'static str]) -> Group {
    group("GEMM", Family::Gemm(gemm), names)
}

const fn convolution(conv: Conv, names: &'static [&'static str]) -> Group {
    group("CONV_fwd", Family::Conv(conv), names)
}

const fn attention(attention: Attention, names: &'static [&'static str]) -> Group {
    let category = if attention.is_backward() { "SDPA_bwd" } else { "SDPA_fwd" };
    group(category, Family::Attention(attention), names)
}

pub(super) const GROUPS: &[Group] = &[
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
    convolution(Conv::ATEN, &["aten::convolution", "aten::_convolution", "aten::convolution_overrideable"]),
    convolution(Conv::CUDNN, &["aten::cudnn_convolution"]),
    convolution(Conv::CUDNN_RELU, &["aten::cudnn_convolution_relu", "aten::miopen_convolution_relu"]),
    convolution(Conv::MIOPEN, &["aten::miopen_convolution", "aten::miopen_depthwise_convolution"]),
    convolution(Conv::APEX, &["ConvBias_", "ConvBiasReLU_"]),
    group(
        "CONV_bwd",
        Family::Single(conv::backward),
        &["aten::convolution_backward", "aten::convolution_backward_overrideable"],
    ),
    attention(Attention::SDPA_FLASH, &["aten::_scaled_dot_product_flash_attention"]),
    attention(
        Attention::SDPA_EFFICIENT,
        &["aten::_scaled_dot_product_efficient_attention", "aten::_scaled_dot_product_cudnn_attention"],
    ),
    attention(Attention::SDPA_OVERRIDEABLE, &["aten::_scaled_dot_product_fused_attention_overrideable"]),
    attention(Attention::SDPA_FLASH_BACKWARD, &["aten::_scaled_dot_product_flash_attention_backward"]),
    attention(
        Attention::SDPA_EFFICIENT_BACKWARD,
        &["aten::_scaled_dot_product_efficient_attention_backward"],
    ),
    attention(Attention::SDPA_CUDNN_BACKWARD, &["aten::_scaled_dot_product_cudnn_attention_backward"]),
    attention(Attention::ATEN_FLASH, &["aten::_flash_attention_forward"]),
    attention(Attention::ATEN_FLASH_BACKWARD, &["aten::_flash_attention_backward"]),
    attention(Attention::ATEN_EFFICIENT, &["aten::_efficient_attention_forward"]),
    attention(Attention::ATEN_EFFICIENT_BACKWARD, &["aten::_efficient_attention_backward"]),
    attention(Attention::FLASH_WINDOW, &["flash_attn::_flash_attn_forward"]),
    attention(
        Attention::FLASH,
        &["FlashAttnFunc", "aiter::_flash_attn_forward", "aiter::mha_fwd", "aiter::fmha_v3_fwd"],
    ),
    attention(
        Attention::FLASH_BACKWARD,
        &["flash_attn::_flash_attn_backward", "aiter::_flash_attn_backward"],
    ),
    attention(Attention::FLASH_VARLEN, &["flash_attn::_flash_attn_varlen_forward"]),
    attention(Attention::FLASH_VARLEN_BACKWARD, &["flash_attn::_flash_attn_varlen_backward"]),
    attention(Attention::FLASH_3, &["flash_attn_3::fwd"]),
    attention(Attention::AITER_WRAPPER, &["aiter::wrapper_fmha_v3_fwd"]),
    attention(Attention::AITER_WRAPPER_BACKWARD, &["aiter::wrapper_fmha_v3_bwd"]),
    attention(Attention::AITER_BACKWARD, &["aiter::mha_bwd", "aiter::fmha_v3_bwd"]),
    attention(Attention::EVOFORMER, &["EvoformerAttention"]),
    group(
        "InferenceAttention",
        Family::Attention(Attention::AITER_VARLEN),
        &["aiter::mha_varlen_fwd", "aiter::fmha_v3_varlen_fwd"],
    ),
    group("InferenceAttention", Family::Attention(Attention::AITER_PAGED), &["aiter::mha_batch_prefill"]),
    group(
        "GroupedGEMM_fwd",
        Family::Single(grouped::work),
        &[
            "aten::_grouped_mm",
            "primus_turbo::grouped_gemm",
            "primus_turbo::grouped_gemm_impl",
            "primus_turbo::grouped_gemm_variable_k",
            "primus_turbo::grouped_gemm_variable_k_impl",
            "primus_turbo_cpp_extension::ck_grouped_gemm",
            "primus_turbo_cpp_extension::ck_grouped_gemm_variable_k",
            "primus_turbo_cpp_extension::grouped_gemm",
            "primus_turbo_cpp_extension::grouped_gemm_variable_k",
        ],
    ),
    group(
        "MoE_fused",
        Family::Moe(Moe::EXPERTS),
        &[
            "sglang::inplace_fused_experts",
            "sglang::outplace_fused_experts",
            "vllm::inplace_fused_experts",
            "vllm::outplace_fused_experts",
        ],
    ),
    group("MoE_fused", Family::Moe(Moe::AITER), &["aiter::fmoe_g1u1", "aiter::fmoe_fp8_blockscale_g1u1"]),
    group("MoE_unfused", Family::Moe(Moe::AITER_UP), &["aiter::ck_moe_stage1"]),
    group("MoE_unfused", Family::Moe(Moe::AITER_DOWN), &["aiter::ck_moe_stage2"]),
];
