//! Which ranks have a bar of their own: all, or of many those with the most, the median and the least.

/// More bars than these say less than three do.
const MOST_BARS: usize = 16;

/// Ranks, and what is special about each.
pub(crate) struct FewRanks<'a, T> {
    pub shown: Vec<(&'a T, Option<&'static str>)>,
    /// How many there are, if they are more than shown.
    pub of: Option<usize>,
}

impl<'a, T> FewRanks<'a, T> {
    /// By what they differ in, as far as it is known; each is `most`, `median` or `least`.
    pub(crate) fn of(all: &'a [T], what: impl Fn(&T) -> Option<f64>) -> FewRanks<'a, T> {
        if all.len() <= MOST_BARS {
            return FewRanks { shown: all.iter().map(|rank| (rank, None)).collect(), of: None };
        }
        let mut known: Vec<(f64, &T)> = all.iter().filter_map(|rank| Some((what(rank)?, rank))).collect();
        known.sort_by(|a, b| b.0.total_cmp(&a.0));
        let places = [(0, "most"), (known.len() / 2, "median"), (known.len().saturating_sub(1), "least")];
        let shown =
            places.iter().filter_map(|(place, name)| Some((known.get(*place)?.1, Some(*name)))).collect();
        FewRanks { shown, of: Some(all.len()) }
    }

    pub(crate) fn ranks(&self) -> impl Iterator<Item = &'a T> {
        self.shown.iter().map(|(rank, _)| *rank)
    }

    /// What bars are called: `5`, or `5 (most)`.
    pub(crate) fn names(&self, name: impl Fn(&T) -> String) -> Vec<String> {
        let full = |(rank, special): &(&T, Option<&str>)| match special {
            Some(special) => format!("{} ({special})", name(rank)),
            None => name(rank),
        };
        self.shown.iter().map(full).collect()
    }

    /// The title, with what was chosen: `… (of 64 ranks those that wait most, median and least)`.
    pub(crate) fn title(&self, title: &str, verb: &str) -> String {
        match self.of {
            Some(count) => format!("{title} (of {count} ranks those that {verb} most, median and least)"),
            None => title.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: i32) -> (Vec<String>, String) {
        let all: Vec<i32> = (0..count).collect();
        // What is not known is not chosen.
        let few = FewRanks::of(&all, |rank| (*rank != 99).then(|| f64::from((rank * 7) % 100)));
        (few.names(ToString::to_string), few.title("Idle?", "idle"))
    }

    #[test]
    fn few_ranks_are_all_shown() {
        assert_eq!(names(3), (["0", "1", "2"].map(str::to_owned).to_vec(), "Idle?".to_owned()));
    }

    #[test]
    fn of_many_three_stand_for_all() {
        let (names, title) = names(100);
        // 57 × 7 ends in 99, 0 in 0.
        assert_eq!(names, ["57 (most)", "7 (median)", "0 (least)"]);
        assert_eq!(title, "Idle? (of 100 ranks those that idle most, median and least)");
    }
}
