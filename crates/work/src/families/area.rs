//! How many pairs of a query and a key attention looks at.
//!
//! Areas are doubled, to stay whole: a query on the edge of a causal mask sees half of the key on the edge,
//! so that a square mask leaves exactly half of the square, as everybody counts it.

/// Which corner of the rectangle of queries and keys a causal mask starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Corner {
    /// The first query sees the first key.
    TopLeft,
    /// The last query sees the last key: the queries are the newest tokens.
    BottomRight,
}

/// What a query may look at, counted in keys before and after its own place; absent: all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) corner: Corner,
    pub(crate) before: Option<u64>,
    pub(crate) after: Option<u64>,
}

impl Window {
    pub(crate) const ALL: Window = Window { corner: Corner::TopLeft, before: None, after: None };

    pub(crate) const fn causal(corner: Corner) -> Window {
        Window { corner, before: None, after: Some(0) }
    }

    /// Twice the area within a rectangle; absent if the numbers are beyond reason.
    pub(crate) fn doubled_area(self, queries: u64, keys: u64) -> Option<u128> {
        let rows = i128::from(u32::try_from(queries).ok()?);
        let columns = i128::from(u32::try_from(keys).ok()?);
        let offset = match self.corner {
            Corner::TopLeft => 0,
            Corner::BottomRight => columns - rows,
        };
        let up_to = match self.after {
            Some(after) => sum_of_clamped(rows, offset + i128::from(after) + 1, columns),
            None => rows * columns,
        };
        let below = match self.before {
            Some(before) => sum_of_clamped(rows, offset - i128::from(before), columns),
            None => 0,
        };
        let on_edge = if self.after == Some(0) {
            (columns - offset).clamp(0, rows) - (-offset).clamp(0, rows)
        } else {
            0
        };
        u128::try_from(2 * (up_to - below) - on_edge).ok()
    }
}

/// The sum of `clamp(i + first, 0, most)` over `i` from 0 to `count - 1`.
fn sum_of_clamped(count: i128, first: i128, most: i128) -> i128 {
    let positive_from = (-first).clamp(0, count);
    let full_from = (most - first).clamp(positive_from, count);
    let sloped = full_from - positive_from;
    sloped * (positive_from + first) + sloped * (sloped - 1) / 2 + (count - full_from) * most
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by_hand(window: Window, queries: i64, keys: i64) -> u128 {
        let offset = if window.corner == Corner::TopLeft { 0 } else { keys - queries };
        let mut doubled = 0;
        for query in 0..queries {
            for key in 0..keys {
                let own = query + offset;
                let seen = window.before.is_none_or(|before| key >= own - before as i64)
                    && window.after.is_none_or(|after| key <= own + after as i64);
                let edge = window.after == Some(0) && key == own;
                doubled += u128::from(seen) * if edge { 1 } else { 2 };
            }
        }
        doubled
    }

    proptest! {
        #[test]
        fn every_pair_is_counted(
            queries in 0_u64..20, keys in 0_u64..20, bottom: bool,
            before in proptest::option::of(0_u64..25), after in proptest::option::of(0_u64..25),
        ) {
            let corner = if bottom { Corner::BottomRight } else { Corner::TopLeft };
            let window = Window { corner, before, after };
            prop_assert_eq!(window.doubled_area(queries, keys), Some(by_hand(window, queries as i64, keys as i64)));
        }

        #[test]
        fn a_causal_mask_and_what_it_hides_make_up_everything(queries in 0_u64..5000, keys in 0_u64..5000) {
            // What a mask from one corner hides is what a mask with queries and keys exchanged shows.
            let causal = |q, k, corner| Window::causal(corner).doubled_area(q, k).unwrap();
            let seen = causal(queries, keys, Corner::TopLeft);
            let hidden = causal(keys, queries, Corner::TopLeft);
            prop_assert_eq!(seen + hidden, 2 * u128::from(queries) * u128::from(keys));
            prop_assert_eq!(causal(queries, queries, Corner::BottomRight), u128::from(queries).pow(2));
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        let most = u64::from(u32::MAX);
        assert_eq!(Window::ALL.doubled_area(most, most), Some(2 * u128::from(most).pow(2)));
        let window = Window { corner: Corner::BottomRight, before: Some(u64::MAX), after: Some(u64::MAX) };
        assert_eq!(window.doubled_area(most, 1), Some(2 * u128::from(most)));
        assert_eq!(Window::ALL.doubled_area(u64::MAX, 1), None);
    }
}
