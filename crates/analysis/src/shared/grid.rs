//! Values by row and column for a heat map. Many rows or columns are drawn as one, with the most of them: what stands
//! out is not lost.

use gpuscope_figure::{Axis, Data, Hue, Panel, Series, Unit};

const MOST_ROWS: usize = 128;
const MOST_COLUMNS: usize = 120;

pub(crate) struct Grid {
    rows: Side,
    columns: Side,
    values: Vec<Option<f64>>,
}

/// The names along one side, several taken together if there are too many.
struct Side {
    names: Vec<String>,
    together: usize,
}

impl Side {
    fn new(names: Vec<String>, most: usize) -> Side {
        let together = names.len().div_ceil(most).max(1);
        let name = |names: &[String]| match names {
            [first, .., last] => format!("{first}–{last}"),
            [only] => only.clone(),
            [] => String::new(),
        };
        let names = if together == 1 { names } else { names.chunks(together).map(name).collect() };
        Side { names, together }
    }
}

impl Grid {
    pub(crate) fn new(rows: impl Iterator<Item = String>, columns: impl Iterator<Item = String>) -> Grid {
        let (rows, columns) =
            (Side::new(rows.collect(), MOST_ROWS), Side::new(columns.collect(), MOST_COLUMNS));
        let values = vec![None; rows.names.len() * columns.names.len()];
        Grid { rows, columns, values }
    }

    /// To that value, unless it is there already.
    pub(crate) fn raise(&mut self, row: usize, column: usize, value: f64) {
        let place = row / self.rows.together * self.columns.names.len() + column / self.columns.together;
        if let Some(cell) = self.values.get_mut(place) {
            *cell = Some(cell.map_or(value, |before| before.max(value)));
        }
    }

    /// Sides are called (down, along).
    pub(crate) fn panel(self, sides: (&str, &str), what: &str, hue: Hue, unit: Unit) -> Panel {
        let rows = self.rows.names.iter().map(|name| format!("{} {name}", sides.0));
        let panel = Panel::new(Axis::categories(sides.1, self.columns.names), Axis::categories("", rows));
        panel.with(Series::new(what, hue, Data::Cells { values: self.values, unit }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_out_stays_when_rows_are_taken_together() {
        let mut grid = Grid::new((0..1000).map(|i| i.to_string()), ["a".to_owned()].into_iter());
        for row in 0..1000 {
            grid.raise(row, 0, if row == 777 { 9.0 } else { 1.0 });
        }
        let panel = grid.panel(("rank", ""), "wait", Hue::Critical, Unit::Ns);
        let names = panel.y.names().unwrap();
        assert!(names.len() <= MOST_ROWS && names[0] == "rank 0–7", "{names:?}");
        let Data::Cells { values, .. } = &panel.series[0].data else { panic!("cells") };
        let high: Vec<usize> = (0..values.len()).filter(|i| values[*i] == Some(9.0)).collect();
        assert_eq!(high, [777 / 8]);
        assert_eq!(values.iter().flatten().count(), names.len());
    }
}
