//! How many bytes one rank sent to and got from each of its group in all-to-alls with sizes of their own.

use gpuscope_trace::lists::IntList;

use super::op::element_bytes;

/// Sums over the calls of one group; both lists are by place in the group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Splits {
    pub(crate) sent: Vec<i64>,
    pub(crate) received: Vec<i64>,
    pub(crate) calls: u64,
    /// Calls whose sizes the trace tells in full.
    pub(crate) told: u64,
}

/// What a trace says of one direction of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Direction<'a> {
    pub(crate) elements: Option<i64>,
    /// The sizes as written, in rows of the tensor.
    pub(crate) splits: Option<&'a str>,
}

impl Splits {
    pub(crate) fn add(
        &mut self,
        members: usize,
        dtype: Option<&str>,
        sent: Direction<'_>,
        got: Direction<'_>,
    ) {
        self.calls += 1;
        let Some(width) = dtype.and_then(element_bytes) else { return };
        let (Some(sent), Some(got)) = (sent.bytes(members, width), got.bytes(members, width)) else { return };
        self.told += 1;
        self.sent.resize(members, 0);
        self.received.resize(members, 0);
        for (sums, bytes) in [(&mut self.sent, sent), (&mut self.received, got)] {
            for (sum, bytes) in sums.iter_mut().zip(bytes) {
                *sum = sum.saturating_add(bytes);
            }
        }
    }
}

impl Direction<'_> {
    /// Bytes by member; none if they cannot be known.
    fn bytes(self, members: usize, width: i64) -> Option<Vec<i64>> {
        let elements = self.elements.filter(|elements| *elements >= 0)?;
        let list = IntList::parse(self.splits?).filter(|list| !list.cut)?;
        if list.values.is_empty() {
            let each = elements.checked_div(i64::try_from(members).ok()?)?;
            return Some(vec![each.checked_mul(width)?; members]);
        }
        if list.values.len() != members || list.values.iter().any(|rows| *rows < 0) {
            return None;
        }
        // Sizes count rows of the tensor; a row may have many elements.
        let rows: i128 = list.values.iter().map(|rows| i128::from(*rows)).sum();
        let bytes = |split: i64| {
            let elements = if rows == 0 { 0 } else { i128::from(split) * i128::from(elements) / rows };
            i64::try_from(elements * i128::from(width)).ok()
        };
        list.values.iter().map(|split| bytes(*split)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(elements: i64, splits: &str) -> Option<Vec<i64>> {
        Direction { elements: Some(elements), splits: Some(splits) }.bytes(3, 2)
    }

    #[test]
    fn sizes_are_rows_of_any_width() {
        assert_eq!(one(60, "[1, 2, 3]"), Some(vec![20, 40, 60]));
        assert_eq!(one(60, "[]"), Some(vec![40, 40, 40]));
        assert_eq!(one(0, "[0, 0, 0]"), Some(vec![0, 0, 0]));
    }

    #[test]
    fn what_is_not_told_is_not_guessed() {
        for splits in ["[1, 2, ...]", "[1, 2]", "[1, 2, -3]", "text", ""] {
            assert_eq!(one(60, splits), None, "{splits}");
        }
        assert_eq!(one(i64::MAX, "[0, 0, 9223372036854775807]"), None);
        let mut splits = Splits::default();
        let (none, some) = (
            Direction { elements: Some(6), splits: None },
            Direction { elements: Some(6), splits: Some("[]") },
        );
        splits.add(3, Some("Float"), some, none);
        splits.add(3, Some("Float"), some, some);
        assert_eq!((splits.calls, splits.told, splits.sent), (2, 1, vec![8, 8, 8]));
    }
}
