//! Kernel names without what nearly all of them have: return types, parameters, namespaces.

/// Words that most names of `PyTorch`'s own kernels have in common, and what is left of them.
const COMMON: [(&str, &str); 14] = [
    ("(anonymous namespace)::", ""),
    ("<unnamed>::", ""),
    ("at::native::", ""),
    ("pytorch_flash::", ""),
    ("std::", ""),
    ("c10::", ""),
    ("vectorized_elementwise_kernel<4, ", "elementwise<"),
    ("vectorized_elementwise_kernel<8, ", "elementwise<"),
    ("unrolled_elementwise_kernel<", "elementwise<"),
    ("elementwise_kernel<128, 4, ", "elementwise<"),
    ("elementwise_kernel<128, 2, ", "elementwise<"),
    ("gpu_kernel_impl_nocast<", ""),
    ("gpu_kernel_impl<", ""),
    ("cutlass::Kernel2<", ""),
];

/// The name without its return type, its parameters and what is common to many.
pub fn brief(name: &str) -> String {
    let name = name.strip_prefix("void ").unwrap_or(name);
    let bare = without_parameters(name);
    // Only of a function with parameters it is sure that a return type comes first, and not in a row of several names.
    let is_function = bare.len() < name.len() && !name.contains('→');
    let mut brief = if is_function { without_type(bare) } else { bare }.to_owned();
    for (common, rest) in COMMON {
        brief = brief.replace(common, rest);
    }
    // A bracket that was opened by what is common.
    while brief.ends_with('>') && brief.matches('>').count() > brief.matches('<').count() {
        brief.pop();
    }
    brief
}

/// `std::enable_if<(8 > 0), void>::type gemm<float>` without what comes before the last space outside of brackets.
fn without_type(name: &str) -> &str {
    let mut depth = 0_i32;
    for (at, c) in name.char_indices().rev() {
        match c {
            '>' | ')' => depth += 1,
            '<' | '(' => depth -= 1,
            ' ' if depth == 0 => return &name[at + 1..],
            _ => {}
        }
        if depth < 0 {
            return name;
        }
    }
    name
}

/// `gemm<float>(Params, int)` without what is in the last parentheses.
fn without_parameters(name: &str) -> &str {
    let Some(inner) = name.strip_suffix(')') else { return name };
    let mut depth = 1_usize;
    for (at, c) in inner.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            // `Memcpy DtoH (Device -> Pinned)` has no parameters: the parentheses stand apart.
            let before = &name[..at];
            return if before.is_empty() || before.ends_with(' ') { name } else { before };
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_many_names_share_is_left_out() {
        for (name, expected) in [
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int, Args)",
                "elementwise<CUDAFunctor_add<float> >",
            ),
            (
                "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type \
                 vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)",
                "vllm::fused_add_rms_norm_kernel<BFloat16, 8>",
            ),
            (
                "void (anonymous namespace)::softmax_warp_forward<float, 10>(float*)",
                "softmax_warp_forward<float, 10>",
            ),
            ("void cutlass::Kernel2<cutlass_80_s1688gemm_align4>(Params)", "cutlass_80_s1688gemm_align4"),
            ("Memcpy DtoH (Device -> Pinned)", "Memcpy DtoH (Device -> Pinned)"),
            ("nn.Module: Linear_3", "nn.Module: Linear_3"),
            ("a <b(c)", "a <b"),
            ("gemm<128, 64> → ncclDevKernel_AllReduce(Args)", "gemm<128, 64> → ncclDevKernel_AllReduce"),
            (")", ")"),
        ] {
            assert_eq!(brief(name), expected, "{name}");
        }
    }
}
