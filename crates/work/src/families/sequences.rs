//! Sequences of several lengths in one tensor.
//!
//! The trace tells how many sequences there are, their tokens together and the longest, but not the length of
//! each. Where these leave no choice the area is exact; else it is the least there can be: one sequence as long
//! as the longest, the others of equal length.

use crate::args::{Args, Tensor};
use crate::count::Count;
use crate::families::area::{Corner, Window};

/// Where the lengths of sequences are told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    /// The tensor with the place where each sequence of queries starts, and the end of the last.
    pub(crate) queries: usize,
    /// The longest sequence of queries, and at the next place that of keys.
    pub(crate) longest: usize,
    /// Keys are pages of a cache that is larger than the sequences.
    pub(crate) keys_paged: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Given {
    count: u64,
    longest_queries: u64,
    longest_keys: u64,
    keys_paged: bool,
}

/// What attention over some sequences looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequences {
    pub(crate) count: Count,
    /// Tokens of all sequences.
    pub(crate) queries: Count,
    keys: Count,
    pub(crate) longest_queries: Count,
    pub(crate) longest_keys: Count,
    pub(crate) doubled_area: Count,
    pub(crate) at_least: bool,
}

impl Lengths {
    /// Whether this call has sequences of several lengths.
    pub(crate) fn are_given(self, args: &Args) -> bool {
        args.tensor(self.queries).is_some()
    }

    pub(crate) fn read(self, args: &Args) -> Option<Given> {
        let starts = args.tensor(self.queries).filter(|starts| starts.rank() == 1)?;
        let longest = |at: usize| args.int(at).and_then(|longest| u64::try_from(longest).ok());
        Some(Given {
            count: starts.shape.sizes()[0].checked_sub(1)?,
            longest_queries: longest(self.longest)?,
            longest_keys: longest(self.longest + 1)?,
            keys_paged: self.keys_paged,
        })
    }
}

impl Given {
    pub(crate) fn sequences(self, query: &Tensor, key: &Tensor, window: Window) -> Option<Sequences> {
        let Given { count, longest_queries, longest_keys, keys_paged } = self;
        let queries = *query.shape.sizes().first()?;
        let all_longest = count.checked_mul(longest_queries)? == queries;
        let as_long_as_queries = all_longest && longest_keys == longest_queries && window.after == Some(0);
        let keys = if keys_paged {
            // No sequence has fewer keys than queries, nor more than the longest.
            as_long_as_queries.then_some(queries)?
        } else {
            *key.shape.sizes().first()?
        };
        if queries > count.checked_mul(longest_queries)? || keys > count.checked_mul(longest_keys)? {
            return None;
        }
        let (doubled_area, at_least) = if all_longest && count * longest_keys == keys {
            (Count::from(count) * area(window, longest_queries, longest_keys), false)
        } else if queries == keys && longest_queries == longest_keys {
            (self.least_area(queries, window)?, count > 1)
        } else if all_longest && window.before.is_none() {
            // Each key is seen by as many queries, so that only the sum of lengths matters.
            let pairs = Count::from(longest_queries) * Count::from(keys);
            let hidden = Count::from(count) * Count::from(longest_queries) * Count::from(longest_queries);
            match (window.after, window.corner) {
                (None, _) => (2 * pairs, false),
                (Some(0), Corner::BottomRight) => (2 * pairs - hidden, false),
                _ => return None,
            }
        } else {
            return None;
        };
        let longest = [longest_queries, longest_keys].map(Count::from);
        Some(Sequences {
            count: Count::from(count),
            queries: Count::from(queries),
            keys: Count::from(keys),
            longest_queries: longest[0],
            longest_keys: longest[1],
            doubled_area,
            at_least,
        })
    }

    /// One sequence as long as the longest, the others as equal as can be.
    fn least_area(self, tokens: u64, window: Window) -> Option<Count> {
        let longest = self.longest_queries;
        let rest = tokens.checked_sub(longest)?;
        let others = self.count.checked_sub(1)?;
        if others == 0 {
            return (rest == 0).then(|| area(window, longest, longest));
        }
        let (each, longer) = (rest / others, rest % others);
        Some(
            area(window, longest, longest)
                + Count::from(longer) * area(window, each + 1, each + 1)
                + Count::from(others - longer) * area(window, each, each),
        )
    }
}

impl Sequences {
    /// Batches of sequences that are all of the same length.
    pub(crate) fn alike(batches: Count, queries: u64, keys: u64, window: Window) -> Sequences {
        Sequences {
            count: batches,
            queries: batches * Count::from(queries),
            keys: batches * Count::from(keys),
            longest_queries: Count::from(queries),
            longest_keys: Count::from(keys),
            doubled_area: batches * area(window, queries, keys),
            at_least: false,
        }
    }

    /// The bytes of a tensor with this many heads and elements per key.
    pub(crate) fn keys_bytes(&self, tensor: &Tensor, heads: Count, size: Count) -> Count {
        self.keys * heads * size * tensor.element_bytes()
    }
}

fn area(window: Window, queries: u64, keys: u64) -> Count {
    window.doubled_area(queries, keys).map_or(Count::UNKNOWN, Count::exactly)
}

#[cfg(test)]
mod tests {
    use crate::Work;
    use crate::testing::work;

    fn varlen(queries: u64, keys: u64, starts: u64, longest: (u64, u64), causal: bool) -> Option<Work> {
        let dims = format!(
            "[[{queries}, 2, 4], [{keys}, 2, 4], [{keys}, 2, 4], [{starts}], [{starts}], [], [], [], [], []]"
        );
        let types = r#"["c10::Half", "c10::Half", "c10::Half", "int", "int"]"#;
        let flag = if causal { "True" } else { "False" };
        let concrete =
            format!(r#"["", "", "", "", "", "{}", "{}", "0.", "1.", "{flag}"]"#, longest.0, longest.1);
        work("flash_attn::_flash_attn_varlen_forward", &dims, types, &concrete)
    }

    /// Twice the area over the lengths, by 2 heads of (4 + 4) elements.
    fn expected(lengths: &[(u128, u128)], causal: bool) -> u128 {
        lengths.iter().map(|&(q, k)| if causal { 2 * q * k - q * q } else { 2 * q * k }).sum::<u128>() * 2 * 8
    }

    #[test]
    fn equal_lengths_are_exact() {
        let equal = varlen(30, 30, 4, (10, 10), true).unwrap();
        assert_eq!((equal.flops, equal.at_least), (expected(&[(10, 10); 3], true), false));
        assert_eq!(equal.bytes, Some(2 * 4 * 30 * 2 * 4));
    }

    #[test]
    fn other_lengths_are_at_least_as_much_as_the_most_equal_ones() {
        for causal in [false, true] {
            let least = varlen(21, 21, 4, (10, 10), causal).unwrap();
            assert_eq!((least.flops, least.at_least), (expected(&[(10, 10), (6, 6), (5, 5)], causal), true));
            for (first, second) in
                (1..=10).map(|first: u128| (first, 11 - first)).filter(|&(_, second)| second > 0)
            {
                assert!(expected(&[(10, 10), (first, first), (second, second)], causal) >= least.flops);
            }
        }
    }

    #[test]
    fn one_new_token_each_makes_the_sum_of_lengths_enough() {
        let lengths = [(1, 3), (1, 9), (1, 20)];
        for causal in [false, true] {
            let decode = varlen(3, 32, 4, (1, 20), causal).unwrap();
            assert_eq!((decode.flops, decode.at_least), (expected(&lengths, causal), false));
        }
    }

    #[test]
    fn what_the_lengths_do_not_tell_is_unknown() {
        assert_eq!(varlen(21, 40, 4, (10, 20), true), None, "mixed prefill");
        assert_eq!(varlen(40, 40, 4, (10, 10), true), None, "more tokens than sequences can hold");
        assert_eq!(varlen(40, 40, 0, (10, 10), true), None);
        assert_eq!(varlen(u64::MAX, u64::MAX, u64::MAX, (u64::MAX, u64::MAX), true), None);
    }
}
