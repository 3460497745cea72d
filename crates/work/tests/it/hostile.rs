//! Whatever the texts are, no model panics.

use gpuscope_work::{Call, Models};
use proptest::prelude::*;

/// Operators of every family.
const NAMES: &[&str] = &[
    "_C::fused_add_rms_norm",
    "_C::rotary_embedding",
    "_C::silu_and_mul",
    "_C_cache_ops::reshape_and_cache_flash",
    "aiter::fmoe_g1u1",
    "aiter::gemm_a4w4",
    "aiter::mha_batch_prefill",
    "aten::_efficient_attention_forward",
    "aten::_foreach_add_",
    "aten::_fused_rms_norm",
    "aten::_fused_rms_norm_backward",
    "aten::_grouped_mm",
    "aten::_scaled_dot_product_flash_attention",
    "aten::_scaled_dot_product_flash_attention_backward",
    "aten::_scaled_mm",
    "aten::_softmax",
    "aten::_softmax_backward_data",
    "aten::add",
    "aten::addmm",
    "aten::bmm",
    "aten::convolution",
    "aten::convolution_backward",
    "aten::copy_",
    "aten::embedding_dense_backward",
    "aten::index_select",
    "aten::max",
    "aten::max_pool2d_with_indices",
    "aten::mse_loss",
    "aten::native_batch_norm",
    "aten::native_group_norm_backward",
    "aten::native_layer_norm",
    "aten::norm",
    "aten::replication_pad2d",
    "aten::upsample_nearest2d",
    "flash_attn::_flash_attn_forward",
    "flash_attn::_flash_attn_varlen_forward",
    "tex_ts::te_gemm_ts",
    "triton_red_fused_add_mean_0",
    "vllm::inplace_fused_experts",
];

fn try_all(dims: &str, types: &str, concrete: &str) {
    for name in NAMES {
        let model = Models::built_in().find(name).unwrap_or_else(|| panic!("{name} has no model"));
        let _ = model.work(&Call { name, dims, types, strides: dims, concrete });
    }
}

/// Sizes that may be real, and some that cannot be.
fn size() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (0_u64..70).prop_map(|size| size.to_string()),
        1 => prop_oneof![Just(i64::MAX.to_string()), Just(u64::MAX.to_string()), Just(u32::MAX.to_string())],
        1 => prop_oneof![Just("-1".to_owned()), Just(i64::MIN.to_string()), Just("1.5".to_owned())],
    ]
}

fn list(of: impl Strategy<Value = String>, most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(of, 0..most).prop_map(|items| format!("[{}]", items.join(", ")))
}

fn argument_dims() -> impl Strategy<Value = String> {
    prop_oneof![4 => list(size(), 6), 1 => list(list(size(), 4), 3)]
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("True".to_owned()),
        Just("False".to_owned()),
        size(),
        list(size(), 5),
        list(prop_oneof![Just("True".to_owned()), Just("False".to_owned())], 4),
        Just("[2., nan]".to_owned()),
    ]
    .prop_map(|value| format!("\"{value}\""))
}

fn dtype() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "float",
        "c10::BFloat16",
        "c10::Float8_e4m3fn",
        "Scalar",
        "",
        "long int",
        "TensorList",
    ])
    .prop_map(|name| format!("\"{name}\""))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn on_almost_real_arguments(
        dims in list(argument_dims(), 16), types in list(dtype(), 16), concrete in list(value(), 16),
    ) {
        try_all(&dims, &types, &concrete);
    }

    #[test]
    fn on_any_text(dims: String, types: String, concrete: String) {
        try_all(&dims, &types, &concrete);
    }

    #[test]
    fn on_brackets_and_numbers(text in r#"[\[\],"0-9 TrueFals\\.-]{0,60}"#) {
        try_all(&text, &text, &text);
    }

    #[test]
    fn on_any_user_file(text in r#"(\[\[model\]\]\n)?(name = "a"\n)?(flops = ".{0,20}"\n)?.{0,40}"#) {
        if let Ok(models) = Models::with_user(&text) {
            models.find("a").and_then(|model| model.work(&Call::default()));
        }
    }
}
