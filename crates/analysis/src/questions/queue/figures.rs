//! How long each stream's queue was over time.

use gpuscope_figure::{Axis, Figure, Hue, Panel, Pictured, Series, Unit};

use super::QueueAnswer;

/// More streams than this in one chart are a tangle.
const MOST_STREAMS: usize = 8;

impl Pictured for QueueAnswer {
    fn figures(&self) -> Vec<Figure> {
        let mut panel = Panel::new(Axis::new("time", Unit::Ns).fitted(), Axis::new("waiting", Unit::Count));
        let mut streams: Vec<_> = self.streams.iter().filter(|stream| stream.series.is_some()).collect();
        streams.sort_by_key(|stream| std::cmp::Reverse(stream.max));
        let start = streams
            .iter()
            .filter_map(|stream| stream.series.as_ref()?.first())
            .map(|point| point.time_ns)
            .min();
        for (i, stream) in streams.into_iter().take(MOST_STREAMS).enumerate() {
            let points = stream.series.iter().flatten();
            let (x, y) = points
                .map(|point| ((point.time_ns - start.unwrap_or_default()).as_f64(), point.length as f64))
                .unzip();
            let name = format!("rank {} · stream {}", stream.rank, stream.stream);
            panel = panel.with(Series::steps(name, Hue::Nth(i), x, y, false));
        }
        let figure = Figure::new("queue", "How much work waited for the GPU?", panel);
        if figure.is_empty() { Vec::new() } else { vec![figure] }
    }
}
