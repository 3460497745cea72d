//! Which graph inductor's code was made from: operators before, launches after.

use gpuscope_trace::compile_log::{Calls, Direction, GraphKind, Piece};
use rustc_hash::FxHashMap;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fusion {
    /// Operators of graphs that became code.
    pub before: u64,
    pub views: u64,
    /// Launches in that code; none where there is no code, or none that can be counted.
    pub after: Option<u64>,
}

impl Fusion {
    pub(super) fn of(pieces: &[Piece]) -> Fusion {
        let mut fusion = Fusion::default();
        let mut graphs = Graphs::default();
        // A graph that comes out of a cache may be written after its code.
        let first = pieces.iter().find_map(|piece| match piece {
            Piece::Graph { kind: GraphKind::Forward | GraphKind::Inference, calls } => Some(*calls),
            _ => None,
        });
        for piece in pieces {
            match *piece {
                Piece::Graph { kind, calls } => graphs.note(kind, calls),
                Piece::Code { made_from, kernels } => {
                    let graph = graphs.of_code(made_from, first);
                    let (Some(calls), Some(kernels)) = (graph, kernels) else { continue };
                    fusion.before += calls.operators;
                    fusion.views += calls.views;
                    fusion.after = Some(fusion.after.unwrap_or(0) + kernels);
                }
            }
        }
        fusion
    }

    /// Nothing to divide by is no ratio.
    pub(super) fn ratio(self) -> Option<f64> {
        let after = self.after.filter(|after| *after > 0)?;
        Some(self.before as f64 / after as f64)
    }
}

/// Operators of the graph that dynamo captured, in the last attempt.
pub(super) fn captured(pieces: &[Piece]) -> u64 {
    let last = pieces.iter().rev().find_map(|piece| match piece {
        Piece::Graph { kind: GraphKind::Dynamo, calls } => Some(calls.operators + calls.views),
        _ => None,
    });
    last.unwrap_or(0)
}

/// The graphs seen so far.
#[derive(Default)]
struct Graphs {
    forward: Option<Calls>,
    backward: Option<Calls>,
    /// The backward graph that goes with a number: it is compiled long after its forward graph.
    backward_of: FxHashMap<i64, Option<Calls>>,
    has_forward_code: bool,
}

impl Graphs {
    fn note(&mut self, kind: GraphKind, calls: Calls) {
        match kind {
            GraphKind::Dynamo => {}
            // A new pair of graphs.
            GraphKind::Joint => {
                *self = Graphs { backward_of: std::mem::take(&mut self.backward_of), ..Graphs::default() }
            }
            GraphKind::Forward | GraphKind::Inference => {
                self.forward = Some(calls);
                self.has_forward_code = false;
            }
            GraphKind::Backward => self.backward = Some(calls),
        }
    }

    fn of_code(&mut self, made_from: Option<(i64, Direction)>, first: Option<Calls>) -> Option<Calls> {
        let guessed = if self.has_forward_code { Direction::Backward } else { Direction::Forward };
        match made_from.map_or(guessed, |(_, direction)| direction) {
            Direction::Forward => {
                if let Some((number, _)) = made_from {
                    self.backward_of.insert(number, self.backward);
                }
                self.has_forward_code = true;
                self.forward.or(first)
            }
            Direction::Backward => {
                let own = made_from.and_then(|(number, _)| self.backward_of.get(&number).copied().flatten());
                own.or(self.backward)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(kind: GraphKind, operators: u64) -> Piece {
        Piece::Graph { kind, calls: Calls { operators, views: 1 } }
    }

    fn code(number: i64, direction: Direction, kernels: u64) -> Piece {
        Piece::Code { made_from: Some((number, direction)), kernels: Some(kernels) }
    }

    #[test]
    fn a_backward_graph_counts_once_it_is_compiled() {
        let mut pieces = vec![
            graph(GraphKind::Dynamo, 4),
            graph(GraphKind::Joint, 30),
            graph(GraphKind::Forward, 10),
            graph(GraphKind::Backward, 20),
            code(0, Direction::Forward, 5),
        ];
        assert_eq!(Fusion::of(&pieces), Fusion { before: 10, views: 1, after: Some(5) });
        pieces.push(code(0, Direction::Backward, 4));
        let fusion = Fusion::of(&pieces);
        assert_eq!((fusion.before, fusion.after, fusion.views), (30, Some(9), 2));
        assert_eq!(captured(&pieces), 5);
    }

    #[test]
    fn graphs_that_were_split_find_their_own_backward() {
        let pieces = [
            graph(GraphKind::Joint, 0),
            graph(GraphKind::Forward, 1),
            graph(GraphKind::Backward, 100),
            code(0, Direction::Forward, 1),
            graph(GraphKind::Joint, 0),
            graph(GraphKind::Forward, 2),
            graph(GraphKind::Backward, 200),
            code(1, Direction::Forward, 1),
            code(1, Direction::Backward, 1),
        ];
        assert_eq!(Fusion::of(&pieces).before, 203);
        let mut both = pieces.to_vec();
        both.push(code(0, Direction::Backward, 1));
        assert_eq!(Fusion::of(&both).before, 303);
    }

    #[test]
    fn code_out_of_a_cache_may_come_first() {
        let pieces = [code(2, Direction::Forward, 2), graph(GraphKind::Inference, 6)];
        assert_eq!(Fusion::of(&pieces).ratio(), Some(3.0));
    }

    #[test]
    fn code_without_a_name_is_forward_first() {
        let unnamed = |kernels| Piece::Code { made_from: None, kernels: Some(kernels) };
        let pieces = [graph(GraphKind::Forward, 4), graph(GraphKind::Backward, 8), unnamed(1), unnamed(2)];
        assert_eq!(Fusion::of(&pieces), Fusion { before: 12, views: 2, after: Some(3) });
    }

    #[test]
    fn what_cannot_be_counted_is_no_ratio() {
        let unknown = Piece::Code { made_from: None, kernels: None };
        assert_eq!(Fusion::of(&[graph(GraphKind::Inference, 4), unknown]).ratio(), None);
        let nothing = Piece::Code { made_from: None, kernels: Some(0) };
        assert_eq!(Fusion::of(&[graph(GraphKind::Inference, 4), nothing]).ratio(), None);
        assert_eq!(Fusion::of(&[]).ratio(), None);
    }
}
