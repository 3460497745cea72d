//! Kernels as charts: kinds as a pie, the largest of each kind and rank as pies, bottlenecks as bars with mean duration
//! against launches, and each kernel's mean over the ranks with its extremes.

use gpuscope_figure::{Axis, Data, Figure, Hue, Panel, Pictured, Series, Slice, Unit};
use rustc_hash::FxHashMap;

use super::{KernelRow, KernelType, KernelsAnswer};
use crate::shared::few_ranks::FewRanks;

/// Slices of a pie, and bars of a chart, that a person still tells apart.
const MOST_SLICES: usize = 5;
const MOST_BARS: usize = 20;
/// Pies of more ranks than this say nothing that the first ones do not; a page lets one be picked.
const MOST_RANKS: usize = 64;

impl Pictured for KernelsAnswer {
    fn figures(&self) -> Vec<Figure> {
        self.figures_of_top(None)
    }
}

impl KernelsAnswer {
    /// With so many bars and slices, rather than as many as are easily told apart.
    pub fn figures_of_top(&self, top: Option<usize>) -> Vec<Figure> {
        let mut figures = vec![self.types_pie(), self.bottlenecks(top.unwrap_or(MOST_BARS))];
        figures.extend(self.top_kernels(top.unwrap_or(MOST_SLICES)));
        figures.extend(KernelType::ALL.into_iter().map(|kind| self.across_ranks(kind)));
        figures.retain(|figure| !figure.is_empty());
        figures
    }
}

/// One name over all ranks.
struct OverRanks<'a> {
    name: &'a str,
    kind: KernelType,
    count: u64,
    sum: f64,
    min: f64,
    max: f64,
}

impl OverRanks<'_> {
    fn mean(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }
}

impl KernelsAnswer {
    fn types_pie(&self) -> Figure {
        let slices = self.types.iter().enumerate().map(|(i, row)| Slice {
            name: row.kernel_type.clone(),
            value: row.sum_ns.as_f64(),
            hue: kind_of(&row.kernel_type).map_or(Hue::Nth(i), hue),
        });
        let most = self.types.first();
        let summary = most.map_or(String::new(), |most| {
            format!("{} takes {:.1} % of the time in which kernels ran", most.kernel_type, most.pct)
        });
        let pie = Panel::pie(slices.collect(), Unit::Ns);
        Figure::new("kernel_types", "How does kernel time divide into kinds?", pie).summary(summary)
    }

    /// Names by their time over all ranks, largest first.
    fn names(&self) -> Vec<OverRanks<'_>> {
        let mut places: FxHashMap<(KernelType, &str), usize> = FxHashMap::default();
        let mut names: Vec<OverRanks<'_>> = Vec::new();
        for row in self.kernels.iter().filter(|row| row.names <= 1) {
            let place = *places.entry((row.kernel_type, &row.name)).or_insert_with(|| {
                let (min, max) = (f64::INFINITY, 0.0);
                names.push(OverRanks {
                    name: &row.name,
                    kind: row.kernel_type,
                    count: 0,
                    sum: 0.0,
                    min,
                    max,
                });
                names.len() - 1
            });
            let name = &mut names[place];
            name.count += row.count;
            name.sum += row.sum_ns.as_f64();
            name.min = name.min.min(row.min_ns.as_f64());
            name.max = name.max.max(row.max_ns.as_f64());
        }
        names.sort_by(|a, b| b.sum.total_cmp(&a.sum).then_with(|| a.name.cmp(b.name)));
        names
    }

    fn bottlenecks(&self, most: usize) -> Figure {
        let names = self.names();
        let top = &names[..names.len().min(most)];
        let bar = |kind: KernelType| {
            let values = top.iter().map(|name| (name.kind == kind).then_some(name.sum)).collect();
            let notes = top.iter().map(|name| format!("{} launches", name.count)).collect();
            Series::bars(kind.label(), hue(kind), values).noted(notes)
        };
        let mut bars = Panel::new(
            Axis::new("time in all launches", Unit::Ns),
            Axis::categories("", top.iter().map(|name| name.name)),
        )
        .titled("Total time")
        .stacked();
        let mut scatter = Panel::new(
            Axis::new("launches", Unit::Count).logarithmic(),
            Axis::new("mean duration", Unit::Ns).logarithmic(),
        )
        .titled("Mean duration against launches");
        for kind in KernelType::ALL {
            let of_kind: Vec<&OverRanks<'_>> = names.iter().filter(|name| name.kind == kind).collect();
            if of_kind.is_empty() {
                continue;
            }
            bars = bars.with(bar(kind));
            let points = Data::Points {
                x: of_kind.iter().map(|name| name.count as f64).collect(),
                y: of_kind.iter().map(|name| name.mean()).collect(),
                sizes: of_kind.iter().map(|name| name.sum).collect(),
            };
            let notes = of_kind.iter().map(|name| name.name.to_owned()).collect();
            scatter = scatter.with(Series::new(kind.label(), hue(kind), points).noted(notes));
        }
        let summary = top.first().map_or(String::new(), |first| format!("{} takes most", first.name));
        Figure::new("bottlenecks", "Which kernels take the time?", bars).beside(scatter).summary(summary)
    }

    /// The largest of each kind, for each rank.
    fn top_kernels(&self, most: usize) -> Vec<Figure> {
        let mut ranks: Vec<u32> = self.kernels.iter().map(|row| row.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let figure = |rank: u32| {
            // Pies of one figure share a legend: a colour is one kernel.
            let mut used = 0;
            let pies = KernelType::ALL.into_iter().filter_map(|kind| {
                let rows: Vec<&KernelRow> =
                    self.kernels.iter().filter(|row| row.rank == rank && row.kernel_type == kind).collect();
                let slices = slices(&rows, most, used);
                used += slices.iter().filter(|slice| slice.hue != Hue::Idle).count();
                (!rows.is_empty()).then(|| Panel::pie(slices, Unit::Ns).titled(kind.label()))
            });
            let title = format!("Top kernels of each kind, rank {rank}");
            pies.fold(None, |figure: Option<Figure>, pie| {
                Some(match figure {
                    Some(figure) => figure.beside(pie),
                    None => Figure::new("top_kernels", title.clone(), pie),
                })
            })
        };
        ranks.into_iter().take(MOST_RANKS).filter_map(figure).collect()
    }

    /// The mean of each kernel on each rank, for the largest kernel of a kind.
    fn across_ranks(&self, kind: KernelType) -> Figure {
        let largest = self.names().into_iter().find(|name| name.kind == kind);
        let rows = |name: &str| {
            let mut rows: Vec<&KernelRow> =
                self.kernels.iter().filter(|row| row.kernel_type == kind && row.name == name).collect();
            rows.sort_by_key(|row| row.rank);
            rows
        };
        let name = largest.map_or(String::new(), |largest| largest.name.to_owned());
        let rows = rows(&name);
        let few = FewRanks::of(&rows, |row| Some(row.mean_ns));
        let bars = Series::bars("mean", hue(kind), few.ranks().map(|row| Some(row.mean_ns)).collect())
            .reaching(few.ranks().map(|row| (row.min_ns.as_f64(), row.max_ns.as_f64())).collect())
            .noted(few.ranks().map(|row| format!("{} launches", row.count)).collect());
        let panel = Panel::new(
            Axis::categories("rank", few.names(|row| row.rank.to_string())),
            Axis::new("mean duration", Unit::Ns),
        )
        .titled(name)
        .with(bars);
        let (figure_name, what) = match kind {
            KernelType::Computation => ("computation_across_ranks", "computation"),
            KernelType::Communication => ("communication_across_ranks", "communication"),
            KernelType::Memory => ("memory_across_ranks", "copy or memory set"),
        };
        let title = format!("How long does the largest {what} take on each rank?");
        let figure = Figure::new(figure_name, few.title(&title, "take"), panel);
        figure.summary("Bars are means, whiskers the least and the most.")
    }
}

/// The first few, and the rest as one.
fn slices(rows: &[&KernelRow], most: usize, first_hue: usize) -> Vec<Slice> {
    // Some rows are several names already.
    let (named, folded): (Vec<&KernelRow>, Vec<&KernelRow>) = rows.iter().partition(|row| row.names <= 1);
    let slice = |(i, row): (usize, &&KernelRow)| Slice {
        name: row.name.clone(),
        value: row.sum_ns.as_f64(),
        hue: Hue::Nth(first_hue + i),
    };
    let mut slices: Vec<Slice> = named.iter().enumerate().take(most).map(slice).collect();
    let rest: f64 = named.iter().skip(most).chain(&folded).map(|row| row.sum_ns.as_f64()).sum();
    if rest > 0.0 {
        slices.push(Slice { name: "others".to_owned(), value: rest, hue: Hue::Idle });
    }
    slices
}

pub(crate) fn hue(kind: KernelType) -> Hue {
    match kind {
        KernelType::Computation => Hue::Compute,
        KernelType::Communication => Hue::Communication,
        KernelType::Memory => Hue::Copy,
    }
}

/// The kind of a label that is not a combination.
fn kind_of(label: &str) -> Option<KernelType> {
    KernelType::ALL.into_iter().find(|kind| kind.label() == label)
}
