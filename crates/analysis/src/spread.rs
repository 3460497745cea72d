//! How numbers are spread: the five that a box plot draws.

use gpuscope_trace::Ns;
use serde::Serialize;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are the keys in JSON")]
pub struct Spread {
    pub mean_ns: f64,
    pub min_ns: Ns,
    /// Quartiles lie between two values where the count asks for it, as in `NumPy`.
    pub q1_ns: f64,
    pub median_ns: f64,
    pub q3_ns: f64,
    pub max_ns: Ns,
}

impl Spread {
    pub(crate) fn of(values: &mut [Ns]) -> Spread {
        let (Some(_), count) = (values.first(), values.len()) else { return Spread::default() };
        values.sort_unstable();
        let sum: i128 = values.iter().map(|value| i128::from(value.0)).sum();
        Spread {
            mean_ns: sum as f64 / count as f64,
            min_ns: values[0],
            q1_ns: quartile(values, 1),
            median_ns: quartile(values, 2),
            q3_ns: quartile(values, 3),
            max_ns: values[count - 1],
        }
    }
}

/// The value a so many quarters of the way up; `values` are sorted and not empty.
fn quartile(values: &[Ns], quarters: usize) -> f64 {
    let (place, rest) = ((values.len() - 1) * quarters / 4, (values.len() - 1) * quarters % 4);
    let low = values[place].as_f64();
    match values.get(place + 1) {
        Some(high) if rest > 0 => low + (high.as_f64() - low) * rest as f64 / 4.0,
        _ => low,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_where_numpy_has_them() {
        let spread = |values: &[i64]| Spread::of(&mut values.iter().map(|v| Ns(*v)).collect::<Vec<_>>());
        let four = spread(&[40, 10, 20, 30]);
        assert_eq!((four.min_ns, four.max_ns), (Ns(10), Ns(40)));
        let bits = |values: [f64; 3]| values.map(f64::to_bits);
        assert_eq!(bits([four.q1_ns, four.median_ns, four.q3_ns]), bits([17.5, 25.0, 32.5]));
        assert_eq!(four.mean_ns.to_bits(), 25.0_f64.to_bits());
        let one = spread(&[7]);
        assert_eq!(bits([one.q1_ns, one.median_ns, one.q3_ns]), bits([7.0, 7.0, 7.0]));
        assert_eq!(spread(&[]), Spread::default());
    }
}
