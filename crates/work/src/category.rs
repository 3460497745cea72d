//! What kind of operator one is, for tables by category.
//!
//! The first that applies: the category of its model; that of a known name whose work its arguments do not
//! tell; `triton` and `record_param_comms` by the start of the name; the kind of `PyTorch` kernel it launches
//! first; else `other`. The names are those of `TraceLens`, so that tables can be laid side by side.

/// The category of an operator, by its name and that of the first kernel it launches.
///
/// For categories that the user gave, ask [`crate::Models::category`].
pub fn category(name: &str, first_kernel: Option<&str>) -> &'static str {
    let known = |&(_, names): &(&str, &[&str])| names.contains(&name);
    if let Some(category) = crate::models::built_in_category(name) {
        category
    } else if let Some((category, _)) = WITHOUT_MODEL.iter().find(|group| known(group)) {
        category
    } else if name.starts_with("triton") {
        "triton"
    } else if name.starts_with("record_param_comms") {
        "record_param_comms"
    } else {
        first_kernel.and_then(by_kernel).unwrap_or("other")
    }
}

fn by_kernel(kernel: &str) -> Option<&'static str> {
    let native = kernel.starts_with("void at::native");
    ["elementwise", "reduce", "multi_tensor_apply"].into_iter().find(|kind| native && kernel.contains(kind))
}

/// Operators whose arguments do not tell what they do.
const WITHOUT_MODEL: &[(&str, &[&str])] = &[
    ("CONV_bwd", &["ConvBias_Backward", "ConvBiasReLU_Backward"]),
    ("SDPA_bwd", &["FlashAttnFuncBackward", "FusedAttnFuncBackward"]),
    (
        "InferenceAttention",
        &[
            "_C_cache_ops::concat_and_cache_mla",
            "aiter::get_mla_metadata_v1",
            "aiter::indexer_score_topk",
            "aiter::linear_attention_with_output_base",
            "aiter::pa_decode_gluon",
            "aiter::pa_sparse_prefill_opus_fwd",
            "sglang_profiler::attention_paged_attention_ragged",
            "sglang_profiler::tilelang_kernel_tilelang_sparse_fwd",
            "vllm::gdn_attention_core",
            "vllm::unified_attention",
            "vllm::unified_attention_with_output",
            "vllm::unified_mla_attention_with_output",
        ],
    ),
    ("MoE_comm_fwd", &["TokenPermuteMaskMap", "_OperationFuserAutogradFunction"]),
    (
        "MoE_comm_bwd",
        &[
            "MoEDispatchBackward",
            "MoECombineBackward",
            "TokenPermuteMaskMapBackward",
            "_OperationFuserAutogradFunctionBackward",
        ],
    ),
    (
        "CustomCollective",
        &[
            "_C_custom_ar::all_reduce",
            "_C_custom_ar::qr_all_reduce",
            "aiter::all_gather_reg",
            "aiter::fused_allreduce_rmsnorm",
            "aiter::fused_allreduce_rmsnorm_",
            "aiter::reduce_scatter",
            "sgl_kernel::all_reduce_reg",
            "sgl_kernel::qr_all_reduce",
            "sglang::reg_all_gather_into_tensor",
            "symm_mem::multimem_all_reduce_",
            "symm_mem::one_shot_all_reduce",
            "symm_mem::two_shot_all_reduce_",
        ],
    ),
    (
        "GroupQuant",
        &[
            "aiter::fused_dynamic_mx_quant_moe_sort_hip",
            "sglang_profiler::fused_mxfp4_quant_fused_flatten_mxfp4_quant",
            "sglang_profiler::quant_dynamic_mxfp4_quant",
        ],
    ),
    (
        "RMSNorm",
        &[
            "aiter::_fuse_rmsnorm_fp4_quant",
            "aiter::fused_add_rmsnorm_pad_",
            "aiter::rmsnorm2d_fwd_with_dynamicquant_ck",
            "aiter::rmsnorm_quant",
            "sglang_profiler::fused_mxfp4_quant_fused_rms_mxfp4_quant",
            "vllm::rocm_aiter_rmsnorm_with_add_fp8_group_quant",
            "vllm::rocm_aiter_triton_add_rmsnorm_pad",
        ],
    ),
    (
        "elementwise",
        &[
            "aiter::mixed_sample_outer_exponential",
            "primus::quantize_mxfp4_dual",
            "primus_turbo::quantize_mxfp4_dual",
            "primus_turbo_cpp_extension::quantize_mxfp4_dual",
        ],
    ),
    ("NORM_fwd", &["aiter::_groupnorm_run", "primus::fused_ln_modulate"]),
    ("NORM_bwd", &["primus::fused_ln_modulate_backward"]),
    (
        "MoE_unfused",
        &[
            "aiter::moe_cktile2stages_gemm1_ck",
            "aiter::moe_cktile2stages_gemm2_ck",
            "sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel",
        ],
    ),
    ("MoE_fused", &["vllm::moe_forward", "vllm::moe_forward_shared"]),
    (
        "MoE_aux",
        &[
            "_moe_C::moe_align_block_size",
            "aiter::grouped_topk",
            "aiter::moe_align_block_size",
            "aiter::biased_grouped_topk_hip",
            "aiter::moe_fused_gate",
            "aiter::moe_sum",
            "aiter::topk_sigmoid",
            "aiter::topk_softmax",
            "aiter::topk_softmax_asm",
            "aiter::topk_softplus",
            "aiter::moe_sorting_fwd",
            "aiter::moe_sorting_opus_fwd",
            "aiter::mxfp4_moe_sort_hip",
            "aiter::fused_dynamic_mxfp4_quant_moe_sort_hip",
            "sglang_profiler::fused_moe_triton_kernels_fused_append_shared_experts",
        ],
    ),
    ("SSM_bwd", &["MambaSplitConv1dScanCombinedFnBackward", "DaoAILab::_causal_conv1d_bwd_cpp"]),
    ("SSM_fwd", &["MambaSplitConv1dScanCombinedFn"]),
    ("RoPE_fwd", &["aiter::fused_qk_rope_concat_and_cache_mla", "aiter::fused_qk_rope_cat_and_cache_mla"]),
    ("RoPE_bwd", &["FusedRoPEFuncBackward"]),
    ("CrossEntropy_bwd", &["CrossEntropyFunctionBackward"]),
    (
        "mHC",
        &[
            "aiter::mhc_post",
            "aiter::mhc_pre_gemm_sqrsum",
            "aiter::mhc_pre_big_fuse_rmsnorm",
            "aiter::mhc_fused_post_pre_gemm_sqrsum",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_applies_decides() {
        let elementwise = Some("void at::native::vectorized_elementwise_kernel<4, …>");
        assert_eq!(category("aten::mm", elementwise), "GEMM");
        assert_eq!(category("FlashAttnFuncBackward", elementwise), "SDPA_bwd");
        assert_eq!(category("triton_poi_fused_mul_0", None), "triton");
        assert_eq!(category("record_param_comms", elementwise), "record_param_comms");
        assert_eq!(category("my::op", elementwise), "elementwise");
        assert_eq!(category("my::op", Some("void at::native::reduce_kernel<512>")), "reduce");
        assert_eq!(category("my::op", Some("my_elementwise_kernel")), "other");
        assert_eq!(category("my::op", None), "other");
    }

    #[test]
    fn a_name_with_a_model_is_not_listed_without() {
        for name in WITHOUT_MODEL.iter().flat_map(|(_, names)| *names) {
            assert!(crate::Models::built_in().find(name).is_none(), "{name}");
        }
    }
}
