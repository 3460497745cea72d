//! What a kernel's name says about the units that compute its products.
//!
//! A trace tells the type of an operator's arguments, but `float` products may run on the matrix units, rounded to
//! TF32, or on the others. Only the kernel's name tells. Names of the usual libraries (cuBLAS, cuDNN, CUTLASS) are
//! known; any other name says nothing.

/// How a kernel computes products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Products {
    /// fp32 on the units that are not made for products.
    Fp32,
    /// Rounded to TF32 on the matrix units.
    Tf32,
    /// Of 16 bits or fewer on the matrix units.
    Narrow,
}

/// Of a kernel with this name; absent if it is none of products, or the name does not tell.
pub fn products(kernel: &str) -> Option<Products> {
    let name = kernel.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    // Adds up the parts of a product that was split.
    if has(&["splitkreduce", "split_k_reduce"]) {
        None
    } else if has(TF32) {
        Some(Products::Tf32)
    } else if has(TENSOR) {
        Some(if has(NARROW) { Products::Narrow } else { Products::Tf32 })
    } else if has(NARROW_PRODUCTS) || (has(&["gemm", "xmma"]) && has(NARROW)) {
        Some(Products::Narrow)
    } else if has(FP32) || (has(FLOAT_TEMPLATES) && has(&["<float", "kernelif", "inst_float"])) {
        Some(Products::Fp32)
    } else {
        None
    }
}

const TF32: &[&str] = &["tf32", "tfloat32"];
/// Shapes of one instruction of the matrix units, and kernels that are for those alone.
const TENSOR: &[&str] = &["tensorop", "s1688", "s16816", "h16816", "s884", "h884", "nvjet_"];
/// Number formats of 16 bits or fewer, as names spell them.
const NARROW: &[&str] = &[
    "bf16", "f16", "fp16", "half", "bfloat16", "h884", "s884", "h1688", "16816", "h161616", "e4m3", "e5m2",
    "e2m1", "fp8", "f8f8", "s8s8", "i8i8", "nvjet_t", "nvjet_h", "nvjet_q",
];
const NARROW_PRODUCTS: &[&str] = &["hgemm", "h884", "flash_fwd", "flash_bwd", "flash_attn", "fmha"];
const FP32: &[&str] = &["sgemm", "scudnn", "gcgemm", "f32f32_f32f32_f32"];
/// Kernels of products that are instances of one text for each type.
const FLOAT_TEMPLATES: &[&str] = &[
    "dgrad_engine",
    "wgrad_alg",
    "dgrad_alg",
    "dgrad2d",
    "wgrad2d",
    "gemmsn_",
    "implicit_convolve",
    "explicit_convolve",
    "winograd",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_usual_libraries_tell_the_units() {
        for (kernel, expected) in [
            ("volta_sgemm_64x64_nt", Some(Products::Fp32)),
            ("ampere_sgemm_32x32_sliced1x4_tn", Some(Products::Fp32)),
            ("cudnn_infer_volta_scudnn_128x64_relu_medium_nn_v1", Some(Products::Fp32)),
            ("cudnn_infer_volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", Some(Products::Fp32)),
            ("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(…)", Some(Products::Fp32)),
            ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_ffma", Some(Products::Fp32)),
            (
                "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int, …)",
                Some(Products::Fp32),
            ),
            ("void wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int, …)", Some(Products::Fp32)),
            ("void gemmSN_NN_kernel<float, 256, 4, 2, 8, 4, 4, false, …>", Some(Products::Fp32)),
            ("void wgrad_alg0_engine<__half, 128, 6, 7, 3, 3, 5, false, 512>(int, …)", None),
            (
                "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4>(…)",
                Some(Products::Tf32),
            ),
            (
                "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_…",
                Some(Products::Tf32),
            ),
            (
                "void cutlass_cudnn_infer::Kernel<cutlass_tensorop_s1688dgrad_optimized_tf32_64x128>",
                Some(Products::Tf32),
            ),
            ("_ZN19cutlass_cudnn_train6KernelINS_4conv6kernel…10tfloat32_t…", Some(Products::Tf32)),
            (
                "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1>(…)",
                Some(Products::Narrow),
            ),
            ("turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_nn", Some(Products::Narrow)),
            ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn", Some(Products::Narrow)),
            ("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", Some(Products::Narrow)),
            ("volta_h884gemm_64x64_ldg8_nn", Some(Products::Narrow)),
            ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_…", Some(Products::Narrow)),
            ("nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT", Some(Products::Narrow)),
            ("nvjet_sm100_sss_128x64_64x16", Some(Products::Tf32)),
            ("void splitKreduce_kernel<32, 16, int, float, float, …>", None),
            ("void at::native::vectorized_elementwise_kernel<4, …>", None),
            ("void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 128, true, 1>(…)", None),
            ("", None),
        ] {
            assert_eq!(products(kernel), expected, "{kernel}");
        }
    }
}
