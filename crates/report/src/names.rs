//! Kernel names in little room: what all C++ kernels share goes first, then what tells them apart least.

use gpuscope_trace::brief;

use crate::text;

/// The name itself if there is room for it, else without its return type, its parameters and what is common,
/// else cut: at the end if it has template arguments, of which the first say most, else in the middle.
pub(crate) fn fitted(name: &str, most: usize) -> String {
    if text::width(name) <= most {
        return name.to_owned();
    }
    // Rows of a tree are indented, and kernels in it marked.
    let bare = name.trim_start_matches([' ', '»']);
    let mark = &name[..name.len() - bare.len()];
    let brief = format!("{mark}{}", brief(bare));
    if !brief.contains('<') || most < 12 {
        return text::shorten(&brief, most);
    }
    let mut pieces = text::pieces(&brief, most.saturating_sub(1)).into_iter();
    match (pieces.next(), pieces.next()) {
        (Some(start), Some(_)) => format!("{start}…"),
        _ => brief,
    }
}

/// As [`fitted`], so that no two of them are the same: those that would be show where they differ.
pub(crate) fn told_apart(names: &[impl AsRef<str>], most: usize) -> Vec<String> {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let short: Vec<String> = names.iter().map(|name| fitted(name, most)).collect();
    let mut told: Vec<String> = Vec::with_capacity(names.len());
    for (i, name) in names.iter().enumerate() {
        let alike = (0..names.len()).filter(|other| *other != i && short[*other] == short[i]);
        let differs = alike.filter_map(|other| first_difference(name, names[other])).min();
        let mut label = differs.map_or_else(|| short[i].clone(), |at| around(name, at, most));
        let mut turn = 2;
        while told.contains(&label) {
            label = format!("{} ({turn})", short[i]);
            turn += 1;
        }
        told.push(label);
    }
    told
}

/// In characters.
fn first_difference(a: &str, b: &str) -> Option<usize> {
    let longest = a.chars().count().max(b.chars().count());
    let (mut a, mut b) = (a.chars(), b.chars());
    (0..longest).find(|_| a.next() != b.next())
}

/// How a name begins, and what is at a place in it.
fn around(name: &str, at: usize, most: usize) -> String {
    let (start, before) = (most / 3, 6);
    let rest: String = name.chars().skip(at.saturating_sub(before)).collect();
    if at <= start + before {
        return text::shorten(name, most);
    }
    let begin: String = name.chars().take(start).collect();
    let room = most.saturating_sub(start + 1);
    let cut: String = rest.chars().take(room.saturating_sub(1)).collect();
    if rest.chars().count() <= room { format!("{begin}…{rest}") } else { format!("{begin}…{cut}…") }
}

/// As [`fitted`], into a width on paper.
pub(crate) fn fitted_to(name: &str, width: f64, width_of: impl Fn(&str) -> f64) -> String {
    let mut fitting = name.to_owned();
    let mut most = text::width(name);
    while most > 1 && width_of(&fitting) > width {
        // Nearly there at once, then letter by letter.
        let guess = (most as f64 * width / width_of(&fitting)).ceil();
        most = (guess.max(1.0) as usize).clamp(1, most - 1);
        fitting = fitted(name, most);
    }
    fitting
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_kernels_share_goes_first() {
        let add = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, \
                   std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)";
        assert_eq!(fitted(add, 40), "elementwise<CUDAFunctor_add<float>, arr…");
        assert_eq!(fitted(add, 400), add);
        assert_eq!(fitted(&format!("  » {add}"), 44), "  » elementwise<CUDAFunctor_add<float>, arr…");
        assert_eq!(
            fitted("ncclDevKernel_AllReduce_Sum_f32(Args<4096ul>)", 40),
            "ncclDevKernel_AllReduce_Sum_f32"
        );
    }

    #[test]
    fn names_that_differ_only_inside_show_where() {
        let (nt, nn) = (
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize128x128x64_kernel__5x_cublas",
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize128x128x64_kernel__5x_cublas",
        );
        assert_eq!(
            told_apart(&[nt, "gemm", nn], 40),
            ["sm90_xmma_gem…_f32_nt_n_tilesize128x128…", "gemm", "sm90_xmma_gem…_f32_nn_n_tilesize128x128…"]
        );
        assert_eq!(told_apart(&["a", "a"], 40), ["a", "a (2)"]);
        let long = "x".repeat(60);
        let longer = format!("{long}y");
        assert_eq!(told_apart(&[&long, &longer], 12), ["xxxxxx…xxxxx", "xxxxxx…xxxxy"]);
    }

    #[test]
    fn names_fit_a_width_on_paper() {
        let width = |text: &str| text.chars().map(|c| if c == 'W' { 3.0 } else { 1.0 }).sum::<f64>();
        for room in [1.0, 2.0, 10.0, 25.0, 60.0, 1e9] {
            let fitting = fitted_to("WWWWWWWWWWgemm_kernel_with_a_long_name_iiiiii", room, width);
            assert!(width(&fitting) <= room, "{fitting} in {room}");
        }
        assert_eq!(fitted_to("gemm", 4.0, width), "gemm");
    }

    #[test]
    fn names_without_templates_keep_both_ends() {
        assert_eq!(fitted("sm90_xmma_gemm_bf16_128x64_cublas", 17), "sm90_xmm…4_cublas");
        assert_eq!(fitted("Memcpy DtoH (Device -> Pinned)", 17), "Memcpy D… Pinned)");
        assert_eq!(fitted(")", 0), "…");
        assert_eq!(fitted("a(b)(c", 3), "a…c");
    }
}
