//! Which kernels took the time, and how much did computation, communication and memory traffic overlap?
//!
//! `types`: for each rank the times in which at least one COMPUTATION, COMMUNICATION and MEMORY (copies and
//! sets) ran; each instant belongs to the set of those that ran then. Summed over the ranks, largest first.
//!
//! `kernels`: for each rank, type and full name the number of launches and the plain sum, mean, extremes and
//! sample standard deviation of their durations (0 for one launch), largest sum first, ties by name. With a
//! limit the rest of each rank and type is one row `others`, whose figures are over all the launches it stands
//! for. Sums are exact integers; only mean and deviation are floats.

mod figures;
mod types;

use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::{Class, GpuEvent, Holds, KernelSum, KindRules, Ns, Payload, StrId, View};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::Question;
use crate::shared::durations::Durations;
pub(crate) use figures::hue;
pub use types::KernelType;
use types::{Combinations, Unions, label};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TypeRow {
    /// `COMPUTATION overlapping MEMORY`: what ran at the same time.
    pub kernel_type: String,
    pub sum_ns: Ns,
    pub pct: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelRow {
    pub rank: u32,
    pub kernel_type: KernelType,
    pub name: String,
    pub count: u64,
    pub sum_ns: Ns,
    pub mean_ns: f64,
    pub min_ns: Ns,
    pub max_ns: Ns,
    pub std_ns: f64,
    /// Of the rank's listed sums.
    pub pct: f64,
    /// How many names the row stands for: more than one for `others` only.
    pub names: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KernelsAnswer {
    pub types: Vec<TypeRow>,
    pub kernels: Vec<KernelRow>,
}

impl Tabular for KernelsAnswer {
    fn tables(&self) -> Vec<Table> {
        let types = Table::of("types", "What ran at the same time", &self.types)
            .text("kernel_type", "The types that ran at the same time", |t| t.kernel_type.clone())
            .int("sum_ns", Unit::Ns, "Time in which exactly these ran, summed over the ranks", |t| t.sum_ns.0)
            .float("pct", Unit::Percent, "Of all listed time", |t| t.pct)
            .build();
        let kernels = Table::of("kernels", "Kernels by their summed time", &self.kernels)
            .int("rank", Unit::None, "The rank", |k| i64::from(k.rank))
            .text("kernel_type", "Computation, communication or memory traffic", |k| {
                k.kernel_type.label().to_owned()
            })
            .int("count", Unit::Count, "Launches", |k| k.count as i64)
            .int("sum_ns", Unit::Ns, "Sum of the durations", |k| k.sum_ns.0)
            .float("pct", Unit::Percent, "Of the rank's listed sums", |k| k.pct)
            .float("mean_ns", Unit::Ns, "Mean duration", |k| k.mean_ns)
            .int("min_ns", Unit::Ns, "Shortest duration", |k| k.min_ns.0)
            .int("max_ns", Unit::Ns, "Longest duration", |k| k.max_ns.0)
            .float("std_ns", Unit::Ns, "Sample standard deviation of the durations", |k| k.std_ns)
            .int("names", Unit::Count, "Names that the row stands for", |k| k.names as i64)
            .text("name", "The kernel's full name; `others` for the rest", |k| k.name.clone())
            .build();
        vec![types, kernels]
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Kernels {
    /// Keep so many of each rank and type and fold the rest; decides if `duration_ratio` is given too.
    pub num_kernels: Option<usize>,
    /// Keep the fewest that make up this share (0 to 1) of their type's time and fold the rest.
    pub duration_ratio: Option<f64>,
    /// Leave memory traffic out of both lists.
    pub exclude_memory: bool,
}

#[derive(Clone, Debug)]
pub struct RankKernels {
    combinations: Combinations,
    rows: Vec<KernelRow>,
}

impl Question for Kernels {
    type Local = RankKernels;
    type Answer = KernelsAnswer;

    fn reads(&self) -> &'static [Holds] {
        &[Holds::Events, Holds::KernelSums]
    }

    fn local(&self, rank: u32, view: View<'_>) -> RankKernels {
        if let Some(Payload::KernelSums(sums)) = &view.trace.payload {
            return self.summed(rank, sums);
        }
        let mut launches: FxHashMap<(KernelType, StrId), Durations> = FxHashMap::default();
        let mut unions = Unions::default();
        for event in view.gpu().filter(|event| self.lists(event)) {
            let kernel_type = KernelType::of(event.kind);
            unions.add(kernel_type, event.interval());
            let key = (kernel_type, view.trace.name_id(event.row));
            launches.entry(key).or_default().add(event.dur());
        }
        let all: i128 = launches.values().map(|durations| durations.sum).sum();
        let mut rows = Vec::new();
        for kernel_type in KernelType::ALL {
            let of_type = launches.iter().filter(|((t, _), _)| *t == kernel_type);
            let named = of_type.map(|((_, name), durations)| (view.trace.strings.get(*name), *durations));
            rows.extend(self.shorten(named.collect()).into_iter().map(|(name, names, durations)| {
                KernelRow::new(rank, kernel_type, name, names, &durations, all)
            }));
        }
        RankKernels { combinations: unions.combinations(), rows }
    }

    fn merge(&self, locals: Vec<RankKernels>) -> KernelsAnswer {
        let mut sums = Combinations::default();
        for local in &locals {
            sums.iter_mut().zip(local.combinations).for_each(|(sum, time)| *sum += time);
        }
        let all: Ns = sums.iter().copied().sum();
        let mut types: Vec<TypeRow> = (0..sums.len())
            .filter(|mask| sums[*mask] > Ns::ZERO)
            .map(|mask| TypeRow { kernel_type: label(mask), sum_ns: sums[mask], pct: sums[mask].pct_of(all) })
            .collect();
        types.sort_by_key(|row| std::cmp::Reverse(row.sum_ns));
        let mut kernels: Vec<KernelRow> = locals.into_iter().flat_map(|local| local.rows).collect();
        // Strings compare bytewise; rank and type come in order, and the sort is stable.
        kernels.sort_by(|a, b| b.sum_ns.cmp(&a.sum_ns).then_with(|| a.name.cmp(&b.name)));
        KernelsAnswer { types, kernels }
    }
}

impl Kernels {
    /// Rows that another program added up: what overlapped is not known.
    fn summed(&self, rank: u32, sums: &[KernelSum]) -> RankKernels {
        let all: i128 = sums.iter().map(|sum| i128::from(sum.sum_ns)).sum();
        let rules = KindRules::default();
        let row = |sum: &KernelSum| KernelRow {
            rank,
            kernel_type: rules.kind(Class::Kernel, &sum.name).map_or(KernelType::Computation, KernelType::of),
            name: sum.name.clone(),
            count: sum.count,
            sum_ns: Ns(sum.sum_ns),
            mean_ns: sum.mean_ns,
            min_ns: Ns(sum.min_ns),
            max_ns: Ns(sum.max_ns),
            std_ns: sum.std_ns,
            pct: if all == 0 { 0.0 } else { 100.0 * sum.sum_ns as f64 / all as f64 },
            names: 1,
        };
        let mut rows: Vec<KernelRow> = sums.iter().map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.sum_ns));
        rows.retain(|row| !(self.exclude_memory && row.kernel_type == KernelType::Memory));
        rows.truncate(self.num_kernels.unwrap_or(usize::MAX));
        RankKernels { combinations: Combinations::default(), rows }
    }

    fn lists(&self, event: &GpuEvent) -> bool {
        !(self.exclude_memory && KernelType::of(event.kind) == KernelType::Memory)
    }

    /// Folds what the options leave out: name, number of names and durations of each row.
    fn shorten<'a>(&self, mut named: Vec<(&'a str, Durations)>) -> Vec<(&'a str, u64, Durations)> {
        named.sort_unstable_by(|a, b| b.1.sum.cmp(&a.1.sum).then_with(|| a.0.cmp(b.0)));
        let keep = match (self.num_kernels, self.duration_ratio) {
            (Some(number), _) => number.min(named.len()),
            (None, Some(ratio)) => fewest(&named, ratio),
            (None, None) => named.len(),
        };
        let mut others = Durations::default();
        for (_, durations) in &named[keep..] {
            others.join(durations);
        }
        let folded = (named.len() - keep) as u64;
        let mut rows: Vec<_> = named[..keep].iter().map(|(name, durations)| (*name, 1, *durations)).collect();
        rows.extend((folded > 0).then_some(("others", folded, others)));
        rows
    }
}

/// How many of the first, which are the largest, make up `ratio` of all.
fn fewest(named: &[(&str, Durations)], ratio: f64) -> usize {
    let all: i128 = named.iter().map(|(_, durations)| durations.sum).sum();
    let enough = ratio * all as f64;
    let mut sum = 0;
    let mut keep = 0;
    while keep < named.len() && (sum as f64) < enough {
        sum += named[keep].1.sum;
        keep += 1;
    }
    keep
}

impl KernelRow {
    fn new(
        rank: u32,
        kernel_type: KernelType,
        name: &str,
        names: u64,
        durations: &Durations,
        all: i128,
    ) -> KernelRow {
        KernelRow {
            rank,
            kernel_type,
            name: name.to_owned(),
            count: durations.count,
            sum_ns: durations.sum_ns(),
            mean_ns: durations.mean(),
            min_ns: durations.min,
            max_ns: durations.max,
            std_ns: durations.deviation(),
            pct: if all == 0 { 0.0 } else { 100.0 * durations.sum as f64 / all as f64 },
            names,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Loaded, json, trace};

    fn sample() -> Loaded {
        trace()
            .kernel("gemm", 7, 0..10, None)
            .kernel("gemm", 7, 10..30, None)
            .kernel("relu", 7, 30..32, None)
            .kernel("add", 7, 32..34, None)
            .kernel("ncclAllReduce", 20, 25..45, None)
            .memcpy("Memcpy HtoD", 21, 28..50, None)
            .memset(7, 60..60, None)
            .build()
    }

    fn names(answer: &KernelsAnswer) -> Vec<(&str, u64, i64)> {
        answer.kernels.iter().map(|row| (row.name.as_str(), row.count, row.sum_ns.0)).collect()
    }

    #[test]
    fn each_instant_belongs_to_the_set_of_types_that_ran_then() {
        let types = sample().ask(&Kernels::default()).types;
        let sums: Vec<_> = types.iter().map(|row| (row.kernel_type.as_str(), row.sum_ns.0)).collect();
        assert_eq!(
            sums,
            [
                ("COMPUTATION", 25),
                ("COMMUNICATION overlapping MEMORY", 11),
                ("COMPUTATION overlapping COMMUNICATION overlapping MEMORY", 6),
                ("MEMORY", 5),
                ("COMPUTATION overlapping COMMUNICATION", 3),
            ]
        );
        assert_eq!(types[0].pct.to_bits(), 50.0_f64.to_bits());
    }

    #[test]
    fn kernels_are_by_sum_then_name_with_exact_figures() {
        let answer = sample().ask(&Kernels::default());
        assert_eq!(
            names(&answer),
            [
                ("gemm", 2, 30),
                ("Memcpy HtoD", 1, 22),
                ("ncclAllReduce", 1, 20),
                ("add", 1, 2),
                ("relu", 1, 2),
                ("Memset (Device)", 1, 0),
            ]
        );
        assert_eq!(
            json(&answer)["kernels"][0],
            serde_json::json!({
                "rank": 3, "kernel_type": "COMPUTATION", "name": "gemm", "count": 2, "sum_ns": 30, "mean_ns": 15.0,
                "min_ns": 10, "max_ns": 20, "std_ns": 50.0_f64.sqrt(), "pct": 100.0 * 30.0 / 76.0, "names": 1,
            })
        );
    }

    #[test]
    fn the_rest_is_folded_per_type_even_if_it_is_a_single_kernel() {
        let two = Kernels { num_kernels: Some(2), duration_ratio: Some(0.1), ..Kernels::default() };
        let answer = sample().ask(&two);
        let others: Vec<_> = answer.kernels.iter().filter(|row| row.name == "others").collect();
        assert_eq!(others.len(), 1);
        let others = others[0];
        assert_eq!((others.count, others.sum_ns, others.names), (1, Ns(2), 1));
        assert_eq!(answer.kernels.len(), 6);
    }

    #[test]
    fn others_has_the_figures_of_all_its_launches() {
        let none = Kernels { num_kernels: Some(0), ..Kernels::default() };
        let answer = sample().ask(&none);
        assert_eq!(names(&answer), [("others", 4, 34), ("others", 2, 22), ("others", 1, 20)]);
        let computation = &answer.kernels[0];
        assert_eq!((computation.min_ns, computation.max_ns, computation.names), (Ns(2), Ns(20), 3));
        // 10, 20, 2, 2: mean 8.5, squared distances 2.25 + 132.25 + 42.25 + 42.25 = 219.
        assert!((computation.mean_ns - 8.5).abs() < 1e-12);
        assert!((computation.std_ns - 73.0_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_ratio_keeps_the_fewest_that_reach_it() {
        let keep = |ratio| {
            let answer = sample().ask(&Kernels { duration_ratio: Some(ratio), ..Kernels::default() });
            let computation = answer.kernels.iter().filter(|row| row.kernel_type == KernelType::Computation);
            computation.map(|row| row.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(keep(30.0 / 34.0), ["gemm", "others"]);
        assert_eq!(keep(0.9), ["gemm", "add", "others"]);
        assert_eq!(keep(1.0), ["gemm", "add", "relu"]);
        assert_eq!(keep(0.0), ["others"]);
    }

    #[test]
    fn without_memory_neither_rows_nor_labels_speak_of_it() {
        let answer = sample().ask(&Kernels { exclude_memory: true, ..Kernels::default() });
        let sums: Vec<_> = answer.types.iter().map(|row| (row.kernel_type.as_str(), row.sum_ns.0)).collect();
        assert_eq!(
            sums,
            [("COMPUTATION", 25), ("COMMUNICATION", 11), ("COMPUTATION overlapping COMMUNICATION", 9)]
        );
        assert!(answer.kernels.iter().all(|row| row.kernel_type != KernelType::Memory));
        let share: f64 = answer.kernels.iter().map(|row| row.pct).sum();
        assert!((share - 100.0).abs() < 1e-9);
    }

    #[test]
    fn ranks_are_summed_in_types_and_apart_in_kernels() {
        let loaded = sample();
        let everything = gpuscope_trace::Selection::everything();
        let kernels = Kernels::default();
        let locals = [0, 1].map(|rank| kernels.local(rank, loaded.view(&everything)));
        let answer = kernels.merge(locals.into());
        assert_eq!(answer.types[0].sum_ns, Ns(50));
        let first: Vec<_> = answer.kernels.iter().take(3).map(|row| (row.rank, row.name.as_str())).collect();
        assert_eq!(first, [(0, "gemm"), (1, "gemm"), (0, "Memcpy HtoD")]);
    }

    #[test]
    fn equal_sums_are_by_name_over_all_types() {
        let tied =
            trace().kernel("b", 7, 0..5, None).memcpy("a", 7, 5..10, None).kernel("nccl", 7, 10..15, None);
        let answer = tied.build().ask(&Kernels::default());
        assert_eq!(names(&answer), [("a", 1, 5), ("b", 1, 5), ("nccl", 1, 5)]);
    }

    #[test]
    fn equal_launches_deviate_by_nothing_and_huge_ones_do_not_overflow() {
        let mut equal = Durations::default();
        (0..1000).for_each(|_| equal.add(Ns(1_000_000_007)));
        assert_eq!(equal.deviation().to_bits(), 0.0_f64.to_bits());
        let mut huge = Durations::default();
        (0..100).for_each(|i| huge.add(Ns(i64::MAX / 2 - i)));
        assert!(huge.deviation().is_finite());
    }
}
