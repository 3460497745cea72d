//! Longest paths in a graph without cycles, in linear time.

use gpuscope_trace::Ns;

#[derive(Clone, Copy, Debug)]
pub(super) struct Edge<T> {
    pub from: u32,
    pub to: u32,
    pub weight: Ns,
    pub what: T,
}

pub(super) struct Dag<T> {
    nodes: usize,
    /// By the node they come from.
    edges: Vec<Edge<T>>,
    /// Where the edges of each node begin; one more entry at the end.
    first: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl<T: Copy> Dag<T> {
    pub(super) fn new(nodes: usize, mut edges: Vec<Edge<T>>) -> Dag<T> {
        edges.sort_by_key(|edge| edge.from);
        let mut first = vec![0u32; nodes + 1];
        for edge in &edges {
            first[edge.from as usize + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        Dag { nodes, edges, first }
    }

    /// The edges of a longest path, in order. What lies on a cycle, or can only be reached through one, is left
    /// out.
    pub(super) fn longest_path(&self) -> Vec<Edge<T>> {
        let mut missing = vec![0u32; self.nodes];
        for edge in &self.edges {
            missing[edge.to as usize] += 1;
        }
        let mut ready: Vec<u32> =
            (0..self.nodes as u32).filter(|node| missing[*node as usize] == 0).collect();
        let mut length = vec![Ns::ZERO; self.nodes];
        let mut arrived_by = vec![NONE; self.nodes];
        let mut last: Option<u32> = None;
        while let Some(node) = ready.pop() {
            let here = length[node as usize];
            if last.is_none_or(|last| here > length[last as usize]) {
                last = Some(node);
            }
            for i in self.first[node as usize]..self.first[node as usize + 1] {
                let edge = &self.edges[i as usize];
                let to = edge.to as usize;
                if arrived_by[to] == NONE || here + edge.weight > length[to] {
                    (length[to], arrived_by[to]) = (here + edge.weight, i);
                }
                missing[to] -= 1;
                if missing[to] == 0 {
                    ready.push(edge.to);
                }
            }
        }
        let mut path = Vec::new();
        let mut node = last;
        while let Some(edge) = node.and_then(|node| self.edges.get(arrived_by[node as usize] as usize)) {
            path.push(*edge);
            node = Some(edge.from);
        }
        path.reverse();
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longest(nodes: usize, edges: &[(u32, u32, i64)]) -> Vec<(u32, u32)> {
        let edges =
            edges.iter().map(|&(from, to, weight)| Edge { from, to, weight: Ns(weight), what: () }).collect();
        Dag::new(nodes, edges).longest_path().iter().map(|edge| (edge.from, edge.to)).collect()
    }

    #[test]
    fn the_heavier_way_round_wins() {
        assert_eq!(longest(4, &[(0, 1, 5), (1, 3, 5), (0, 2, 1), (2, 3, 8)]), [(0, 1), (1, 3)]);
        assert_eq!(longest(4, &[(0, 1, 5), (1, 3, 5), (0, 2, 1), (2, 3, 12)]), [(0, 2), (2, 3)]);
    }

    #[test]
    fn a_cycle_is_left_out() {
        assert_eq!(longest(5, &[(0, 1, 5), (2, 3, 9), (3, 2, 9), (3, 4, 1)]), [(0, 1)]);
    }
}
