//! Operators that compute element by element, add up, or only move data.

use super::{Group, group};
use crate::families::elementwise::{self, Elementwise};
use crate::families::fused::{self, Fused};
use crate::families::norm::Norm;
use crate::families::reduce::{self, Reduce};
use crate::families::{Family, lookup, resize, rms_norm, softmax, triton};

const fn elementwise(elementwise: Elementwise, names: &'static [&'static str]) -> Group {
    group("elementwise", Family::Elementwise(elementwise), names)
}

const fn moves(work: fn(&crate::args::Args) -> Option<crate::Work>, names: &'static [&'static str]) -> Group {
    group("elementwise", Family::Single(work), names)
}

const fn reduce(reduce: Reduce, names: &'static [&'static str]) -> Group {
    group("reduce", Family::Reduce(reduce), names)
}

const fn lists(operations: u64, names: &'static [&'static str]) -> Group {
    group("multi_tensor_apply", Family::Lists(operations), names)
}

/// Kernels of compiled models: their names list what is in them.
pub(crate) static COMPILED: Group = group("triton", Family::Single(triton::work), &[]);

pub(super) const GROUPS: &[Group] = &[
    elementwise(
        Elementwise::UNARY,
        &[
            "aten::abs",
            "aten::bitwise_not",
            "aten::ceil",
            "aten::clamp",
            "aten::clamp_",
            "aten::clamp_max",
            "aten::clamp_max_",
            "aten::clamp_min",
            "aten::clamp_min_",
            "aten::elu",
            "aten::floor",
            "aten::gelu",
            "aten::hardswish",
            "aten::hardswish_",
            "aten::hardtanh",
            "aten::hardtanh_",
            "aten::leaky_relu",
            "aten::leaky_relu_",
            "aten::mish",
            "aten::neg",
            "aten::neg_",
            "aten::round",
            "aten::sign",
            "aten::silu",
            "aten::silu_",
            "aten::softplus",
            "aten::tril",
            "aten::triu",
        ],
    ),
    elementwise(
        Elementwise::FUNCTION,
        &[
            "aten::cos",
            "aten::erf",
            "aten::exp",
            "aten::exp2",
            "aten::exp_",
            "aten::log",
            "aten::log1p",
            "aten::log2",
            "aten::log_",
            "aten::reciprocal",
            "aten::reciprocal_",
            "aten::rsqrt",
            "aten::rsqrt_",
            "aten::sigmoid",
            "aten::sigmoid_",
            "aten::sin",
            "aten::sqrt",
            "aten::sqrt_",
            "aten::tanh",
            "aten::tanh_",
        ],
    ),
    elementwise(Elementwise::TEST, &["aten::isinf", "aten::isnan", "aten::logical_not"]),
    group("elementwise", Family::Single(elementwise::power), &["aten::pow", "aten::pow_"]),
    elementwise(
        Elementwise::BINARY,
        &[
            "aten::add",
            "aten::atan2",
            "aten::bitwise_and",
            "aten::bitwise_or",
            "aten::bitwise_xor",
            "aten::floor_divide",
            "aten::fmod",
            "aten::maximum",
            "aten::minimum",
            "aten::mul",
            "aten::remainder",
            "aten::rsub",
            "aten::sub",
        ],
    ),
    elementwise(
        Elementwise::BINARY_IN_PLACE,
        &[
            "aten::add_",
            "aten::bitwise_and_",
            "aten::bitwise_or_",
            "aten::div_",
            "aten::mul_",
            "aten::sub_",
            "aten::masked_fill_",
        ],
    ),
    elementwise(Elementwise::DIVISION, &["aten::div"]),
    elementwise(
        Elementwise::COMPARISON,
        &[
            "aten::eq",
            "aten::ge",
            "aten::gt",
            "aten::le",
            "aten::logical_and",
            "aten::logical_or",
            "aten::logical_xor",
            "aten::lt",
            "aten::ne",
        ],
    ),
    elementwise(
        Elementwise::DERIVATIVE,
        &[
            "aten::elu_backward",
            "aten::gelu_backward",
            "aten::hardswish_backward",
            "aten::leaky_relu_backward",
            "aten::native_dropout_backward",
            "aten::sigmoid_backward",
            "aten::silu_backward",
            "aten::tanh_backward",
            "aten::threshold_backward",
        ],
    ),
    elementwise(
        Elementwise::TERNARY,
        &["aten::addcdiv", "aten::addcmul", "aten::lerp", "aten::mse_loss_backward"],
    ),
    elementwise(Elementwise::TERNARY_IN_PLACE, &["aten::addcdiv_", "aten::addcmul_", "aten::lerp_"]),
    elementwise(Elementwise::SELECTION, &["aten::where"]),
    moves(elementwise::copy, &["aten::copy", "aten::copy_"]),
    moves(
        elementwise::fill,
        &[
            "aten::bernoulli_",
            "aten::exponential_",
            "aten::fill_",
            "aten::normal_",
            "aten::random_",
            "aten::uniform_",
        ],
    ),
    moves(elementwise::dropout, &["aten::native_dropout"]),
    moves(
        resize::pad,
        &[
            "aten::reflection_pad1d",
            "aten::reflection_pad2d",
            "aten::reflection_pad3d",
            "aten::replication_pad1d",
            "aten::replication_pad2d",
            "aten::replication_pad3d",
        ],
    ),
    moves(
        resize::enlarge,
        &["aten::upsample_nearest1d", "aten::upsample_nearest2d", "aten::upsample_nearest3d"],
    ),
    group("elementwise", Family::Fused(Fused::GATE), &["LigerSiLUMulFunction"]),
    group(
        "elementwise",
        Family::Fused(Fused::GATE_INTO),
        &[
            "_C::gelu_and_mul",
            "_C::gelu_tanh_and_mul",
            "_C::silu_and_mul",
            "aiter::gelu_and_mul",
            "aiter::gelu_tanh_and_mul",
            "aiter::silu_and_mul",
            "sgl_kernel::gelu_and_mul",
            "sgl_kernel::gelu_tanh_and_mul",
            "sgl_kernel::silu_and_mul",
        ],
    ),
    group(
        "elementwise",
        Family::Fused(Fused::QUANTISE),
        &["primus_turbo::quantize_fp8_tensorwise", "primus_turbo_cpp_extension::quantize_fp8_tensorwise"],
    ),
    lists(
        1,
        &[
            "aten::_foreach_abs",
            "aten::_foreach_add",
            "aten::_foreach_add_",
            "aten::_foreach_clamp_max_",
            "aten::_foreach_div",
            "aten::_foreach_div_",
            "aten::_foreach_maximum_",
            "aten::_foreach_mul",
            "aten::_foreach_mul_",
            "aten::_foreach_neg",
            "aten::_foreach_neg_",
            "aten::_foreach_norm",
            "aten::_foreach_reciprocal_",
            "aten::_foreach_sqrt",
            "aten::_foreach_sqrt_",
            "aten::_foreach_sub",
            "aten::_foreach_sub_",
        ],
    ),
    lists(0, &["aten::_foreach_copy_", "aten::_foreach_zero_"]),
    lists(3, &["aten::_foreach_addcdiv_", "aten::_foreach_addcmul_", "aten::_foreach_lerp_"]),
    // Two moments, their corrections, the root, the step and the decay of weights.
    lists(16, &["aten::_fused_adam_", "aten::_fused_adamw_"]),
    lists(4, &["aten::_fused_sgd_"]),
    reduce(Reduce::EXTREME, &["aten::max", "aten::min"]),
    reduce(
        Reduce::STATISTIC,
        &["aten::amax", "aten::amin", "aten::logsumexp", "aten::mean", "aten::std", "aten::var"],
    ),
    reduce(Reduce::SUM, &["aten::prod", "aten::sum"]),
    reduce(Reduce::NORM, &["aten::linalg_norm", "aten::linalg_vector_norm", "aten::norm"]),
    reduce(Reduce::PLACE, &["aten::argmax", "aten::argmin"]),
    reduce(Reduce::TRUTH, &["aten::all", "aten::any"]),
    group("reduce", Family::Single(reduce::scan), &["aten::cumprod", "aten::cumsum"]),
    group("reduce", Family::Single(reduce::squared_error), &["aten::mse_loss"]),
    group("Softmax_fwd", Family::Single(softmax::forward), &["aten::_log_softmax", "aten::_softmax"]),
    group(
        "Softmax_bwd",
        Family::Single(softmax::backward),
        &["aten::_log_softmax_backward_data", "aten::_softmax_backward_data"],
    ),
    group(
        "NORM_fwd",
        Family::Norm(Norm::BATCH),
        &["aten::batch_norm", "aten::cudnn_batch_norm", "aten::miopen_batch_norm", "aten::native_batch_norm"],
    ),
    group("NORM_fwd", Family::Norm(Norm::INSTANCE), &["aten::instance_norm"]),
    group("NORM_fwd", Family::Norm(Norm::LAYER), &["aten::layer_norm", "aten::native_layer_norm"]),
    group("NORM_fwd", Family::Norm(Norm::GROUP), &["aten::group_norm"]),
    group("NORM_fwd", Family::Norm(Norm::NATIVE_GROUP), &["aten::native_group_norm"]),
    group("NORM_fwd", Family::Single(rms_norm::forward), &["aten::_fused_rms_norm"]),
    group(
        "NORM_bwd",
        Family::Norm(Norm::BATCH_BACKWARD),
        &["aten::batch_norm_backward", "aten::native_batch_norm_backward"],
    ),
    group(
        "NORM_bwd",
        Family::Norm(Norm::LIBRARY_BATCH_BACKWARD),
        &["aten::cudnn_batch_norm_backward", "aten::miopen_batch_norm_backward"],
    ),
    group("NORM_bwd", Family::Norm(Norm::LAYER_BACKWARD), &["aten::native_layer_norm_backward"]),
    group("NORM_bwd", Family::Norm(Norm::GROUP_BACKWARD), &["aten::native_group_norm_backward"]),
    group("NORM_bwd", Family::Single(rms_norm::backward), &["aten::_fused_rms_norm_backward"]),
    group(
        "RMSNorm",
        Family::Fused(Fused::RMS_INTO),
        &["_C::rms_norm", "aiter::rms_norm", "aiter::rmsnorm", "sgl_kernel::rmsnorm"],
    ),
    group("RMSNorm", Family::Fused(Fused::RMS), &["aiter::rmsnorm2d_fwd_ck"]),
    group("RMSNorm", Family::Fused(Fused::RMS_QUANTISED), &["vllm::rocm_aiter_rmsnorm_fp8_group_quant"]),
    group(
        "RMSNorm",
        Family::Fused(Fused::ADD_RMS_INTO),
        &["aiter::add_rmsnorm", "aiter::rmsnorm2d_fwd_with_add_ck"],
    ),
    group(
        "RMSNorm",
        Family::Fused(Fused::ADD_RMS_IN_PLACE),
        &["_C::fused_add_rms_norm", "sgl_kernel::fused_add_rmsnorm"],
    ),
    group(
        "RoPE_fwd",
        Family::Fused(Fused::ROTARY_IN_PLACE),
        &["_C::rotary_embedding", "sgl_kernel::rotary_embedding"],
    ),
    group("RoPE_fwd", Family::Fused(Fused::ROTARY_INTO), &["aiter::rope_cached_positions_2c_fwd_impl"]),
    group("RoPE_fwd", Family::Fused(Fused::ROTARY), &["FusedRoPEFunc"]),
    group(
        "GroupQuant",
        Family::Fused(Fused::QUANTISE_INTO),
        &["_C::static_scaled_fp8_quant", "aiter::static_per_tensor_quant"],
    ),
    group(
        "GroupQuant",
        Family::Fused(Fused::SCALE_AND_QUANTISE_INTO),
        &[
            "_C::dynamic_per_token_scaled_fp8_quant",
            "_C::dynamic_scaled_fp8_quant",
            "aiter::dynamic_per_group_scaled_quant",
            "aiter::dynamic_per_group_scaled_quant_fp4",
            "aiter::dynamic_per_tensor_quant",
            "aiter::dynamic_per_token_scaled_quant",
        ],
    ),
    group(
        "GroupQuant",
        Family::Fused(Fused::SCALE_AND_QUANTISE),
        &["vllm::triton_per_token_group_quant_fp8"],
    ),
    group("CrossEntropy_fwd", Family::Fused(Fused::CROSS_ENTROPY), &["CrossEntropyFunction"]),
    group("MoE_comm_fwd", Family::Fused(Fused::MOVE), &["MoECombine", "MoEDispatch"]),
    group(
        "InferenceAttention",
        Family::Single(fused::store_in_cache),
        &["_C_cache_ops::reshape_and_cache", "_C_cache_ops::reshape_and_cache_flash", "sglang::store_cache"],
    ),
    group("SSM_fwd", Family::Single(fused::causal_conv1d), &["DaoAILab::_causal_conv1d_fwd_cpp"]),
    group("Embedding_fwd", Family::Single(lookup::embedding), &["aten::embedding"]),
    group("Embedding_bwd", Family::Single(lookup::embedding_backward), &["aten::embedding_dense_backward"]),
    group("Index", Family::Single(lookup::gather), &["aten::gather"]),
    group("Index", Family::Single(lookup::index_select), &["aten::index_select"]),
    group("Pool_fwd", Family::Single(resize::max_pool::<2>), &["aten::max_pool2d_with_indices"]),
    group("Pool_fwd", Family::Single(resize::max_pool::<3>), &["aten::max_pool3d_with_indices"]),
    group(
        "Pool_bwd",
        Family::Single(resize::max_pool_backward),
        &["aten::max_pool2d_with_indices_backward", "aten::max_pool3d_with_indices_backward"],
    ),
];
