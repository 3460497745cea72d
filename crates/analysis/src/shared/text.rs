//! Numbers in the sentences of findings, three digits and a unit, and names short enough for one.

use gpuscope_trace::{Ns, brief};

/// A sentence is no place for more.
const LONGEST_NAME: usize = 80;

/// The name of a kernel, call or frame without what nearly all have. Template arguments are cut at the end, because
/// the first say most; other names in the middle, where they differ least.
pub(crate) fn name(name: &str) -> String {
    let brief = brief(name);
    let count = brief.chars().count();
    if count <= LONGEST_NAME {
        return brief;
    }
    let end = if brief.contains('<') { 0 } else { LONGEST_NAME / 2 };
    let start: String = brief.chars().take(LONGEST_NAME - 1 - end).collect();
    let rest: String = brief.chars().skip(count - end).collect();
    format!("{start}…{rest}")
}

pub(crate) fn time(time: Ns) -> String {
    scaled(time.as_f64(), &[("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)])
}

pub(crate) fn bytes(bytes: i64) -> String {
    let size = |power: u32| (1_u64 << (10 * power)) as f64;
    let units = [("B", 1.0), ("KiB", size(1)), ("MiB", size(2)), ("GiB", size(3)), ("TiB", size(4))];
    scaled(bytes as f64, &units)
}

fn scaled(value: f64, units: &[(&str, f64)]) -> String {
    let (unit, scale) = units.iter().rev().find(|(_, scale)| value.abs() >= *scale).unwrap_or(&units[0]);
    let value = value / scale;
    let places = if *scale < 2.0 || value.abs() >= 99.95 {
        0
    } else if value.abs() >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.places$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_a_sentence() {
        let parts = "x".repeat(100);
        let cut = name(&format!("void at::native::reduce<float, {parts}>(int)"));
        assert_eq!(cut, format!("reduce<float, {}…", "x".repeat(65)));
        let cut = name(&format!("Cijk_{parts}_end"));
        assert!(cut.starts_with("Cijk_x") && cut.ends_with("x_end") && cut.chars().count() == 80, "{cut}");
        assert_eq!(name("aten::mm"), "aten::mm");
    }

    #[test]
    fn three_digits_are_enough() {
        assert_eq!(time(Ns(1_234_567)), "1.23 ms");
        assert_eq!(time(Ns(0)), "0 ns");
        assert_eq!(bytes(85_029_158_912), "79.2 GiB");
        assert_eq!(time(Ns(157_700_000)), "158 ms");
    }
}
