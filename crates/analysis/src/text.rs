//! Numbers in the sentences of findings: three digits and a unit.

use gpuscope_trace::Ns;

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
    fn three_digits_are_enough() {
        assert_eq!(time(Ns(1_234_567)), "1.23 ms");
        assert_eq!(time(Ns(0)), "0 ns");
        assert_eq!(bytes(85_029_158_912), "79.2 GiB");
        assert_eq!(time(Ns(157_700_000)), "158 ms");
    }
}
