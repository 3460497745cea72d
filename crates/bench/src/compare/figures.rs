//! The charts of a comparison: both sides beside each other, and how much faster.

use gpuscope_figure::{Axis, Figure, Hue, Panel, Pictured, Series, Unit};

use super::{Compared, Comparison, in_words};

/// A value, and from where to where it reaches.
type Reaching = (f64, (f64, f64));

impl Pictured for Comparison {
    fn figures(&self) -> Vec<Figure> {
        let latency = self.sides_beside("time", Unit::Ns, |row| {
            let spread = row.std_ns.unwrap_or(0.0);
            Some((row.mean_ns, ((row.mean_ns - spread).max(0.0), row.mean_ns + spread)))
        });
        let throughput = self.sides_beside("tokens", Unit::PerSecond, |row| {
            let rate = row.throughput_per_s?;
            // The spread of the time, as a share, is that of the rate.
            let share = row.std_ns.map_or(0.0, |std| std / row.mean_ns);
            Some((rate, (rate * (1.0 - share).max(0.0), rate * (1.0 + share))))
        });
        let all = [
            Figure::new("compared_latency", "How long does a pass take?", latency)
                .summary(self.verdict.clone()),
            Figure::new("compared_throughput", "How many tokens in a second?", throughput),
            Figure::new(
                "speedup",
                format!("How many times as fast as {}?", self.sides[0]),
                self.speedup_bars(),
            )
            .summary("Whiskers are 95 % intervals: one that reaches across 1 is no difference.".to_owned()),
        ];
        all.into_iter().filter(|figure| !figure.is_empty()).collect()
    }
}

impl Comparison {
    /// The configurations in order.
    fn names(&self) -> Vec<&String> {
        let mut names: Vec<&String> = self.rows.iter().map(|row| &row.benchmark).collect();
        names.dedup();
        names
    }

    fn row(&self, benchmark: &str, side: &str) -> Option<&Compared> {
        self.rows.iter().find(|row| row.benchmark == benchmark && row.side == side)
    }

    fn sides_beside(&self, axis: &str, unit: Unit, value: fn(&Compared) -> Option<Reaching>) -> Panel {
        let names = self.names();
        let mut panel =
            Panel::new(Axis::categories("configuration", names.iter().copied()), Axis::new(axis, unit));
        for (i, side) in self.sides.iter().enumerate() {
            let values: Vec<_> = names.iter().map(|name| self.row(name, side).and_then(value)).collect();
            let reach = values.iter().map(|value| value.map_or((0.0, 0.0), |(_, reach)| reach)).collect();
            let bars = values.iter().map(|value| value.map(|(value, _)| value)).collect();
            panel = panel.with(Series::bars(side.clone(), hue(i), bars).reaching(reach));
        }
        panel
    }

    fn speedup_bars(&self) -> Panel {
        let names = self.names();
        let mut panel = Panel::new(
            Axis::categories("configuration", names.iter().copied()),
            Axis::new("speed-up", Unit::Ratio),
        );
        for (i, side) in self.sides.iter().enumerate().skip(1) {
            let rows: Vec<_> = names.iter().map(|name| self.row(name, side)).collect();
            let bars = rows.iter().map(|row| row.and_then(|row| row.speedup)).collect();
            let reach = |row: Option<&Compared>| {
                let known = row.and_then(|row| row.speedup_low.zip(row.speedup_high));
                known.unwrap_or_else(|| {
                    row.and_then(|row| row.speedup).map_or((0.0, 0.0), |speedup| (speedup, speedup))
                })
            };
            let notes = rows.iter().map(|row| row.and_then(in_words).unwrap_or_default()).collect();
            let bars =
                Series::bars(side.clone(), hue(i), bars).reaching(rows.iter().copied().map(reach).collect());
            panel = panel.with(bars.noted(notes));
        }
        panel
    }
}

/// What was is grey, what is to be compared with it has colours.
fn hue(side: usize) -> Hue {
    match side {
        0 => Hue::Idle,
        1 => Hue::Compute,
        n => Hue::Nth(n),
    }
}
