//! The charts of a dashboard.

use gpuscope_figure::{Axis, Figure, Hue, Panel, Pictured, Series, Unit};
use gpuscope_report::units;

use super::{NS_PER_MS, Overview, config, tokens};
use crate::data::Benchmark;

impl Pictured for Overview {
    fn figures(&self) -> Vec<Figure> {
        let all = [
            self.latency(),
            self.throughput(),
            self.percentiles(),
            self.architecture(),
            self.efficiency(),
            self.measured_bars(
                "memory",
                "How much memory does each take?",
                "memory",
                Unit::Bytes,
                Hue::Memset,
                |one| one.peak_memory_bytes,
            ),
            self.measured_bars(
                "bandwidth",
                "How fast does each move memory?",
                "bandwidth",
                Unit::BytesPerSecond,
                Hue::Copy,
                |one| one.bandwidth_bytes_per_s,
            ),
        ];
        all.into_iter().filter(|figure| !figure.is_empty()).collect()
    }
}

impl Overview {
    fn all(&self) -> impl Iterator<Item = &Benchmark> {
        self.measured.benchmarks.values()
    }

    fn names(&self, label: &str) -> Axis {
        Axis::categories(label, self.measured.benchmarks.keys())
    }

    fn configs(&self) -> Vec<String> {
        self.all().map(|one| config(one).unwrap_or_default()).collect()
    }

    fn latency(&self) -> Figure {
        let means = self.all().map(|one| Some(one.timing.mean * NS_PER_MS)).collect();
        let spread = |one: &Benchmark| {
            let (mean, std) = (one.timing.mean * NS_PER_MS, one.deviation().unwrap_or(0.0) * NS_PER_MS);
            ((mean - std).max(0.0), mean + std)
        };
        let bars = Series::bars("mean ± deviation", Hue::Compute, means)
            .reaching(self.all().map(spread).collect())
            .noted(self.configs());
        let panel = Panel::new(self.names("configuration"), Axis::new("forward pass", Unit::Ns)).with(bars);
        let said = self.best().first().map_or_else(String::new, |best| format!("{}: {best}.", best.what));
        Figure::new("latency", "How long does a pass take?", panel).summary(said)
    }

    fn throughput(&self) -> Figure {
        self.measured_bars(
            "throughput",
            "How many tokens in a second?",
            "tokens",
            Unit::PerSecond,
            Hue::Copy,
            |one| one.throughput_tokens_per_sec,
        )
    }

    fn measured_bars(
        &self,
        name: &'static str,
        title: &str,
        axis: &str,
        unit: Unit,
        hue: Hue,
        value: fn(&Benchmark) -> Option<f64>,
    ) -> Figure {
        let values: Vec<Option<f64>> = self.all().map(value).collect();
        let named = self.measured.benchmarks.keys().zip(&values);
        let most =
            named.filter_map(|(name, value)| Some((name, (*value)?))).max_by(|a, b| a.1.total_cmp(&b.1));
        let said = most.map_or_else(String::new, |(name, value)| {
            format!("The most: {name} with {}.", units::float(value, unit))
        });
        let bars = Series::bars(axis, hue, values).noted(self.configs());
        let panel = Panel::new(self.names("configuration"), Axis::new(axis, unit)).with(bars);
        Figure::new(name, title, panel).summary(said)
    }

    /// A line for each configuration from the fastest repeat to the slowest but one in a hundred.
    fn percentiles(&self) -> Figure {
        const PLACES: [&str; 5] = ["min", "median", "p95", "p99", "max"];
        let mut panel = Panel::new(
            Axis::categories("share of the repeats", PLACES),
            Axis::new("forward pass", Unit::Ns).logarithmic(),
        );
        let mut widest: Option<(&String, f64)> = None;
        for (i, (name, one)) in self.measured.benchmarks.iter().enumerate() {
            let timing = &one.timing;
            let values = [timing.min, timing.median, timing.p95, timing.p99, timing.max];
            let known: Vec<(f64, f64)> = (0..)
                .zip(values)
                .filter_map(|(place, value)| Some((f64::from(place), value? * NS_PER_MS)))
                .collect();
            let (x, y) = known.into_iter().unzip();
            panel = panel.with(Series::line(name.clone(), Hue::Nth(i), x, y));
            if let (Some(median), Some(p99)) = (timing.median, timing.p99)
                && median > 0.0
                && widest.is_none_or(|(_, ratio)| p99 / median > ratio)
            {
                widest = Some((name, p99 / median));
            }
        }
        let said = widest.map_or_else(String::new, |(name, ratio)| {
            format!("The longest tail: one repeat of {name} in a hundred takes {ratio:.2} times its median or longer.")
        });
        Figure::new("percentiles", "How even are the repeats?", panel).summary(said)
    }

    fn architecture(&self) -> Figure {
        let panel = |title: &str, hue: Hue, value: fn(&Benchmark) -> Option<f64>| {
            let bars = Series::bars("", hue, self.all().map(value).collect());
            Panel::new(self.names(""), Axis::new("", Unit::Count)).titled(title).with(bars)
        };
        Figure::new(
            "architecture",
            "How large are the models?",
            panel("layers", Hue::Nth(0), Benchmark::layers),
        )
        .beside(panel("width", Hue::Nth(1), Benchmark::width))
        .beside(panel("heads", Hue::Nth(2), Benchmark::heads))
    }

    /// Throughput per layer beside the time of a pass.
    fn efficiency(&self) -> Figure {
        let mut panel = Panel::new(
            Axis::new("forward pass", Unit::Ns).logarithmic(),
            Axis::new("tokens per layer", Unit::PerSecond),
        );
        let mut best: Option<(&String, f64)> = None;
        for (i, (name, one)) in self.measured.benchmarks.iter().enumerate() {
            let Some((rate, layers)) =
                one.throughput_tokens_per_sec.zip(one.layers().filter(|layers| *layers > 0.0))
            else {
                continue;
            };
            let per_layer = rate / layers;
            let note = format!("{name}: {} per layer", units::float(per_layer, Unit::PerSecond));
            let point =
                Series::points(name.clone(), Hue::Nth(i), vec![one.timing.mean * NS_PER_MS], vec![per_layer]);
            panel = panel.with(point.noted(vec![note]));
            if best.is_none_or(|(_, rate)| per_layer > rate) {
                best = Some((name, per_layer));
            }
        }
        let said = best.map_or_else(String::new, |(name, rate)| {
            format!("The most per layer: {name} with {}.", tokens(rate))
        });
        Figure::new("efficiency", "How much does a layer do?", panel).summary(said)
    }
}
