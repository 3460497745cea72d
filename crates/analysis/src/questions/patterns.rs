//! Which sequences of kernels does an operator launch again and again?
//!
//! The roots are the outermost host events whose name contains a text, or without one the outermost operators.
//! Everything that was launched on a root's thread while it ran, in order of its start on the GPU, is the root's
//! sequence. Roots of one name with one sequence are a pattern: what repeats often and consists of many short
//! kernels is worth fusing or capturing.

use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::{Class, Ns, Row, StrId, Trace, View};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::Question;
use crate::shared::owner::{Among, Owners};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pattern {
    pub rank: u32,
    pub operator: String,
    /// GPU events by start.
    pub kernels: Vec<String>,
    pub count: u64,
    /// Summed time of the GPU events of all occurrences.
    pub gpu_ns: Ns,
    /// Summed time of the roots on the host.
    pub cpu_ns: Ns,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RankPatterns {
    pub rank: u32,
    /// Roots with enough kernels.
    pub roots: u64,
    /// How many different patterns they make.
    pub patterns: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PatternsAnswer {
    pub ranks: Vec<RankPatterns>,
    pub patterns: Vec<Pattern>,
}

impl Tabular for PatternsAnswer {
    fn tables(&self) -> Vec<Table> {
        let patterns = Table::of("patterns", "Frequent sequences of kernels", &self.patterns)
            .int("rank", Unit::None, "The rank", |p| i64::from(p.rank))
            .int("count", Unit::Count, "How often", |p| p.count as i64)
            .int("kernel_count", Unit::Count, "Kernels in the sequence", |p| p.kernels.len() as i64)
            .int("gpu_ns", Unit::Ns, "Summed GPU time of all occurrences", |p| p.gpu_ns.0)
            .int("cpu_ns", Unit::Ns, "Summed time of the operator on the host", |p| p.cpu_ns.0)
            .text("pattern", "The operator and its kernels", Pattern::text)
            .build();
        let ranks = Table::of("ranks", "How many there are", &self.ranks)
            .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
            .int("roots", Unit::Count, "Operators with enough kernels", |r| r.roots as i64)
            .int("patterns", Unit::Count, "Different patterns among them", |r| r.patterns as i64)
            .build();
        vec![patterns, ranks]
    }
}

impl Pattern {
    /// `operator | kernel | kernel ×3`
    fn text(&self) -> String {
        std::iter::once(self.operator.clone()).chain(runs(&self.kernels)).collect::<Vec<_>>().join(" | ")
    }
}

/// Names in a row, each once, with how often it repeats.
pub(crate) fn runs(names: &[String]) -> impl Iterator<Item = String> {
    names.chunk_by(|a, b| a == b).map(|run| match run.len() {
        1 => run[0].clone(),
        times => format!("{} ×{times}", run[0]),
    })
}

#[derive(Clone, Debug)]
pub struct Patterns {
    /// Roots are named so; without it they are operators.
    pub operator: Option<String>,
    /// Shorter sequences are left out.
    pub min_length: usize,
    /// The most frequent of each rank that are kept.
    pub top: usize,
}

impl Default for Patterns {
    fn default() -> Self {
        Patterns { operator: None, min_length: 3, top: 5 }
    }
}

impl Question for Patterns {
    type Local = (RankPatterns, Vec<Pattern>);
    type Answer = PatternsAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> (RankPatterns, Vec<Pattern>) {
        let mut found: FxHashMap<Box<[StrId]>, Totals> = FxHashMap::default();
        let mut sequence = Vec::new();
        let mut roots = 0;
        for events in self.events_by_root(view).chunk_by(|a, b| a.root == b.root) {
            if events.len() < self.min_length.max(1) {
                continue;
            }
            roots += 1;
            let root = events[0].root;
            sequence.clear();
            sequence.push(view.trace.name_id(root));
            sequence.extend(events.iter().map(|event| event.name));
            let totals = match found.get_mut(sequence.as_slice()) {
                Some(totals) => totals,
                None => found.entry(sequence.as_slice().into()).or_default(),
            };
            totals.count += 1;
            totals.gpu += events.iter().map(|event| event.dur).sum();
            totals.cpu += view.trace.span(root).map_or(Ns::ZERO, |(start, end)| end - start);
        }
        let summary = RankPatterns { rank, roots, patterns: found.len() as u64 };
        (summary, self.most_frequent(rank, view.trace, found))
    }

    fn merge(&self, locals: Vec<(RankPatterns, Vec<Pattern>)>) -> PatternsAnswer {
        let (ranks, patterns): (Vec<_>, Vec<_>) = locals.into_iter().unzip();
        PatternsAnswer { ranks, patterns: patterns.into_iter().flatten().collect() }
    }
}

impl Patterns {
    /// The roots of the patterns that the answer lists: the place of the pattern there, and its root's row.
    pub fn roots(&self, rank: u32, view: View<'_>) -> Vec<(usize, Row)> {
        let (_, patterns) = self.local(rank, view);
        let place: FxHashMap<Vec<&str>, usize> = patterns
            .iter()
            .enumerate()
            .map(|(i, pattern)| {
                let kernels = pattern.kernels.iter().map(String::as_str);
                (std::iter::once(pattern.operator.as_str()).chain(kernels).collect(), i)
            })
            .collect();
        let mut roots = Vec::new();
        let mut sequence = Vec::new();
        for events in self.events_by_root(view).chunk_by(|a, b| a.root == b.root) {
            sequence.clear();
            sequence.push(view.trace.name(events[0].root));
            sequence.extend(events.iter().map(|event| view.trace.strings.get(event.name)));
            roots.extend(place.get(&sequence).map(|place| (*place, events[0].root)));
        }
        roots
    }
}

/// A GPU event under a root.
struct Launched {
    root: Row,
    name: StrId,
    dur: Ns,
}

#[derive(Default)]
struct Totals {
    count: u64,
    gpu: Ns,
    cpu: Ns,
}

impl Patterns {
    /// GPU events that have a root, those of one root together and by start.
    fn events_by_root(&self, view: View<'_>) -> Vec<Launched> {
        let trace = view.trace;
        // Few names, many rows: each name is looked at once.
        let mut has_text: FxHashMap<StrId, bool> = FxHashMap::default();
        let is_root = |row: Row| match &self.operator {
            Some(text) => {
                let name = trace.name_id(row);
                *has_text.entry(name).or_insert_with(|| trace.strings.get(name).contains(text.as_str()))
            }
            None => trace.class(row) == Class::Operator,
        };
        let mut roots = Owners::new(view.index.nesting(trace), trace.len(), Among::Outermost, is_root);
        let mut events: Vec<Launched> = view
            .gpu()
            .filter_map(|event| {
                let root = roots.of(view.launch(event.row)?)?;
                Some(Launched { root, name: trace.name_id(event.row), dur: event.dur() })
            })
            .collect();
        // Stable, so that events stay by start; nearly sorted already, as GPUs work in the order of launches.
        events.sort_by_key(|event| event.root);
        events
    }

    fn most_frequent(
        &self,
        rank: u32,
        trace: &Trace,
        found: FxHashMap<Box<[StrId]>, Totals>,
    ) -> Vec<Pattern> {
        let mut found: Vec<(Box<[StrId]>, Totals)> = found.into_iter().collect();
        let text = |id: &StrId| trace.strings.get(*id);
        found.sort_by(|(a, x), (b, y)| {
            (y.count, y.gpu).cmp(&(x.count, x.gpu)).then_with(|| a.iter().map(text).cmp(b.iter().map(text)))
        });
        found.truncate(self.top);
        let pattern = |(sequence, totals): (Box<[StrId]>, Totals)| Pattern {
            rank,
            operator: text(&sequence[0]).to_owned(),
            kernels: sequence[1..].iter().map(|name| text(name).to_owned()).collect(),
            count: totals.count,
            gpu_ns: totals.gpu,
            cpu_ns: totals.cpu,
        };
        found.into_iter().map(pattern).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Loaded, trace};

    fn rows(loaded: &Loaded, operator: Option<&str>, min_length: usize) -> Vec<(String, u64, i64, i64)> {
        let question = Patterns { operator: operator.map(str::to_owned), min_length, top: 10 };
        let answer = loaded.ask(&question);
        answer.patterns.iter().map(|p| (p.text(), p.count, p.gpu_ns.0, p.cpu_ns.0)).collect()
    }

    /// Twice an attention of three kernels, once of two; the launches of the second are out of order on the GPU.
    fn attention() -> Loaded {
        trace()
            .host("user_annotation", "forward", 0..400)
            .host("cpu_op", "attention", 0..100)
            .host("cpu_op", "inner attention", 5..50)
            .call(1, 10..12)
            .call(2, 20..22)
            .call(3, 60..62)
            .kernel("qk", 7, 100..110, 1)
            .kernel("softmax", 7, 110..115, 2)
            .kernel("softmax", 7, 115..120, 3)
            .host("cpu_op", "attention", 200..290)
            .call(5, 210..212)
            .call(4, 220..222)
            .call(6, 230..232)
            .kernel("qk", 7, 300..310, 4)
            .kernel("softmax", 7, 310..315, 5)
            .kernel("softmax", 7, 316..320, 6)
            .host("cpu_op", "attention", 300..310)
            .call(7, 301..302)
            .call(8, 303..304)
            .kernel("qk", 7, 400..410, 7)
            .kernel("softmax", 7, 410..420, 8)
            .call(9, 350..351)
            .kernel("under no operator", 7, 500..510, 9)
            .kernel("unlaunched", 7, 600..610, None)
            .build()
    }

    #[test]
    fn a_pattern_is_the_outermost_operator_and_its_kernels_by_start() {
        let twice = ("attention | qk | softmax ×2".to_owned(), 2, 39, 190);
        let once = ("attention | qk | softmax".to_owned(), 1, 20, 10);
        assert_eq!(rows(&attention(), None, 3), std::slice::from_ref(&twice));
        assert_eq!(rows(&attention(), Some("tention"), 1), [twice, once]);
        assert_eq!(
            rows(&attention(), Some("inner"), 2),
            [("inner attention | qk | softmax".to_owned(), 1, 15, 45)]
        );
        let all = rows(&attention(), Some("forward"), 1);
        assert_eq!((all.len(), all[0].1, all[0].2), (1, 1, 69));
        assert_eq!(rows(&attention(), Some("no such"), 1), []);
        assert_eq!(rows(&trace().build(), None, 0), []);
    }

    #[test]
    fn what_is_cut_off_is_counted() {
        let answer = attention().ask(&Patterns { min_length: 1, top: 1, ..Patterns::default() });
        assert_eq!(answer.patterns.len(), 1);
        assert_eq!((answer.ranks[0].roots, answer.ranks[0].patterns), (3, 2));
    }
}
