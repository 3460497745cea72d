//! Who waited for whom: ranks against collectives and against steps, and who sent how much to whom.

use std::collections::BTreeMap;

use gpuscope_figure::{Figure, Hue, Pictured, Unit};
use gpuscope_trace::Ns;

use super::{AllToAllV, CollectiveRow, CollectivesAnswer, RankRow};
use crate::shared::grid::Grid;

/// Columns that a person still tells apart.
const MOST_COLLECTIVES: usize = 40;
/// Groups whose traffic is drawn.
const MOST_GROUPS: usize = 4;

/// Who comes before the others waits inside the collective, and no longer than it takes.
fn waited_in(part: &RankRow) -> Ns {
    part.aligned_wait_ns.min(part.dur_ns)
}

impl Pictured for CollectivesAnswer {
    fn figures(&self) -> Vec<Figure> {
        self.figures_of_top(None)
    }
}

impl CollectivesAnswer {
    pub fn figures_of_top(&self, top: Option<usize>) -> Vec<Figure> {
        let mut figures = vec![self.waits(top.unwrap_or(MOST_COLLECTIVES)), self.by_step()];
        figures.extend(self.all_to_all_v.iter().take(MOST_GROUPS).map(traffic));
        figures.retain(|figure| !figure.is_empty());
        figures
    }

    fn ranks(&self) -> Vec<u32> {
        let mut ranks: Vec<u32> =
            self.together().flat_map(|row| row.ranks.iter().map(|rank| rank.rank)).collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    /// Those of several ranks: alone nobody waits.
    fn together(&self) -> impl Iterator<Item = &CollectiveRow> {
        // Between clocks that cannot be compared that closely nobody knows who waited.
        let is_known = |row: &CollectiveRow| row.half_width_ns <= row.aligned_skew();
        self.collectives.iter().filter(move |row| row.ranks.len() > 1 && is_known(row))
    }

    /// The collectives that cost most waiting, in order of time.
    fn waits(&self, most: usize) -> Figure {
        let mut rows: Vec<&CollectiveRow> = self.together().collect();
        let waited = |row: &CollectiveRow| row.ranks.iter().map(waited_in).sum::<Ns>();
        rows.sort_by_key(|row| std::cmp::Reverse(waited(row)));
        let left_out = rows.len().saturating_sub(most);
        rows.truncate(most);
        rows.sort_by_key(|row| row.start_ns);
        let ranks = self.ranks();
        let mut grid = Grid::new(ranks.iter().map(u32::to_string), rows.iter().map(|row| called(row)));
        for (column, row) in rows.iter().enumerate() {
            for part in &row.ranks {
                if let Ok(place) = ranks.binary_search(&part.rank) {
                    grid.raise(place, column, waited_in(part).as_f64());
                }
            }
        }
        let beside = if left_out == 0 { String::new() } else { format!(" (the {most} with most waiting)") };
        let figure = Figure::new(
            "collectives",
            format!("Which rank waits in which collective?{beside}"),
            grid.panel(("rank", "collective"), "waiting", Hue::Critical, Unit::Ns),
        );
        let longest = rows.iter().max_by_key(|row| waited(row));
        match longest.and_then(|row| Some((called(row), row.last_rank?))) {
            Some((name, last)) => figure.summary(format!("Most waiting is in {name}, for rank {last}")),
            None => figure,
        }
    }

    fn by_step(&self) -> Figure {
        let ranks = self.ranks();
        let mut steps: Vec<i64> = self.together().filter_map(|row| row.step).collect();
        steps.sort_unstable();
        steps.dedup();
        let mut sums: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for row in self.together() {
            let Some(column) = row.step.and_then(|step| steps.binary_search(&step).ok()) else { continue };
            for part in &row.ranks {
                if let Ok(place) = ranks.binary_search(&part.rank) {
                    *sums.entry((place, column)).or_default() += waited_in(part).as_f64();
                }
            }
        }
        let mut grid = Grid::new(ranks.iter().map(u32::to_string), steps.iter().map(i64::to_string));
        for ((row, column), sum) in sums {
            grid.raise(row, column, sum);
        }
        let panel = grid.panel(("rank", "step"), "waiting for others", Hue::Communication, Unit::Ns);
        Figure::new("step_waits", "How long does each rank wait for others in each step?", panel)
    }
}

fn called(row: &CollectiveRow) -> String {
    match row.step {
        Some(step) => format!("{} · step {step}", &*row.name),
        None => row.name.to_string(),
    }
}

fn traffic(group: &AllToAllV) -> Figure {
    let names = || group.members.iter().map(u32::to_string);
    let mut grid = Grid::new(names(), names());
    for (row, sent) in group.sent_bytes.iter().enumerate() {
        for (column, bytes) in sent.iter().enumerate() {
            grid.raise(row, column, *bytes as f64);
        }
    }
    let panel = grid.panel(("from rank", "to rank"), "sent", Hue::Communication, Unit::Bytes);
    let name = group.group_description.as_deref().or(group.group.as_deref()).unwrap_or("a group");
    let figure = Figure::new("all_to_all_v", format!("Who sends how much to whom? ({name})"), panel);
    match group.imbalance_mean {
        Some(imbalance) => figure.summary(format!("The busiest rank sends {imbalance:.2} times the mean")),
        None => figure,
    }
}
