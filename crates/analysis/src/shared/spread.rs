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
            q1_ns: quartile(values, 1, Ns::as_f64),
            median_ns: quartile(values, 2, Ns::as_f64),
            q3_ns: quartile(values, 3, Ns::as_f64),
            max_ns: values[count - 1],
        }
    }
}

/// The same for numbers that are no times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quartiles {
    pub count: u64,
    pub mean: f64,
    pub min: f64,
    pub q1: f64,
    pub median: f64,
    pub q3: f64,
    pub max: f64,
}

impl Quartiles {
    /// Absent without any value.
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Quartiles> {
        values.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let at = |quarters| quartile(&values, quarters, f64::from);
        Some(Quartiles {
            count: values.len() as u64,
            mean: values.iter().sum::<f64>() / values.len() as f64,
            min,
            q1: at(1),
            median: at(2),
            q3: at(3),
            max,
        })
    }
}

/// The value so many quarters of the way up; `values` are sorted and not empty.
fn quartile<T: Copy>(values: &[T], quarters: usize, number: fn(T) -> f64) -> f64 {
    let (place, rest) = ((values.len() - 1) * quarters / 4, (values.len() - 1) * quarters % 4);
    let low = number(values[place]);
    match values.get(place + 1) {
        Some(high) if rest > 0 => low + (number(*high) - low) * rest as f64 / 4.0,
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
        let rates = Quartiles::of(vec![40.0, 10.0, 20.0, 30.0]).unwrap();
        let same = [rates.min, rates.q1, rates.median, rates.q3, rates.max, rates.mean];
        assert_eq!((rates.count, same), (4, [10.0, 17.5, 25.0, 32.5, 40.0, 25.0]));
        assert_eq!(Quartiles::of(Vec::new()), None);
    }
}
