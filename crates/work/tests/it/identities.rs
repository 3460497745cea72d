//! What must be equal, whoever counts.

use gpuscope_work::{Call, Models, Work};
use proptest::prelude::*;

const TWO: &str = r#"["c10::Half", "c10::Half"]"#;
const THREE: &str = r#"["c10::Half", "c10::Half", "c10::Half"]"#;

fn work(name: &str, dims: &str, types: &str, concrete: &str) -> Option<Work> {
    let model = Models::built_in().find(name).unwrap_or_else(|| panic!("{name} has no model"));
    model.work(&Call { name, dims, types, strides: "", concrete })
}

fn counts(name: &str, dims: &str, types: &str, concrete: &str) -> Option<(u128, Option<u64>)> {
    work(name, dims, types, concrete).map(|work| (work.flops, work.bytes))
}

proptest! {
    #[test]
    fn a_batch_of_one_is_a_product(m in 0_u64..5000, n in 0_u64..5000, k in 0_u64..5000) {
        let mm = counts("aten::mm", &format!("[[{m}, {k}], [{k}, {n}]]"), TWO, "");
        let bmm = counts("aten::bmm", &format!("[[1, {m}, {k}], [1, {k}, {n}]]"), TWO, "");
        prop_assert_eq!(mm, bmm);
        prop_assert_eq!(mm.unwrap().0, 2 * u128::from(m) * u128::from(n) * u128::from(k));
        let batches = counts("aten::bmm", &format!("[[7, {m}, {k}], [7, {k}, {n}]]"), TWO, "").unwrap();
        prop_assert_eq!(batches.0, 7 * mm.unwrap().0);
        prop_assert_eq!(batches.1, mm.unwrap().1.map(|bytes| 7 * bytes));
    }

    #[test]
    fn weights_may_lie_either_way(m in 1_u64..500, n in 1_u64..500, k in 1_u64..500) {
        let rows = counts("aten::mm", &format!("[[{m}, {k}], [{k}, {n}]]"), TWO, "");
        let weights = counts("aiter::gemm_a16w16", &format!("[[{m}, {k}], [{n}, {k}]]"), TWO, "");
        prop_assert_eq!(rows, weights);
    }

    #[test]
    fn a_convolution_with_one_place_is_a_product(
        batch in 1_u64..8, input in 1_u64..200, output in 1_u64..200, height in 1_u64..40, width in 1_u64..40,
    ) {
        let dims = format!("[[{batch}, {input}, {height}, {width}], [{output}, {input}, 1, 1]]");
        let settings = r#"["", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"]"#;
        let rows = batch * height * width;
        let product = format!("[[{rows}, {input}], [{input}, {output}]]");
        prop_assert_eq!(
            counts("aten::convolution", &dims, TWO, settings),
            counts("aten::mm", &product, TWO, "")
        );
    }

    #[test]
    fn attention_is_two_products_per_head(
        batch in 1_u64..4, heads in 1_u64..8, queries in 1_u64..200, keys in 1_u64..200, size in 1_u64..100,
    ) {
        let key = format!("[{batch}, {heads}, {keys}, {size}]");
        let dims = format!("[[{batch}, {heads}, {queries}, {size}], {key}, {key}, [], [], []]");
        let attention = |causal: &str| {
            let concrete = format!(r#"["", "", "", "0.", "{causal}", "False"]"#);
            work("aten::_scaled_dot_product_flash_attention", &dims, THREE, &concrete).unwrap().flops
        };
        let groups = batch * heads;
        let product = |dims: String| counts("aten::bmm", &dims, TWO, "").unwrap().0;
        let scores = product(format!("[[{groups}, {queries}, {size}], [{groups}, {size}, {keys}]]"));
        let values = product(format!("[[{groups}, {queries}, {keys}], [{groups}, {keys}, {size}]]"));
        prop_assert_eq!(attention("False"), scores + values);
        prop_assert!(attention("True") <= attention("False"));
        if queries == keys {
            prop_assert_eq!(2 * attention("True"), attention("False"));
        }
    }

    #[test]
    fn sequences_side_by_side_are_a_batch(count in 1_u64..6, length in 1_u64..100, heads in 1_u64..4, causal: bool) {
        let flag = if causal { "True" } else { "False" };
        let dense = format!("[{count}, {length}, {heads}, 16]");
        let dims = format!("[{dense}, {dense}, {dense}, [], [], [], [], []]");
        let batch = counts(
            "flash_attn::_flash_attn_forward", &dims, THREE,
            &format!(r#"["", "", "", "0.", "1.", "{flag}", "-1", "-1"]"#),
        );
        let (tokens, starts) = (count * length, count + 1);
        let flat = format!("[{tokens}, {heads}, 16]");
        let dims = format!("[{flat}, {flat}, {flat}, [{starts}], [{starts}], [], [], [], [], []]");
        let sequences = work(
            "flash_attn::_flash_attn_varlen_forward", &dims,
            r#"["c10::Half", "c10::Half", "c10::Half", "int", "int"]"#,
            &format!(r#"["", "", "", "", "", "{length}", "{length}", "0.", "1.", "{flag}"]"#),
        ).unwrap();
        prop_assert!(!sequences.at_least);
        prop_assert_eq!(batch, Some((sequences.flops, sequences.bytes)));
    }
}
