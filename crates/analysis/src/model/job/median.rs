//! One rank as if it were the median of all.

use gpuscope_trace::{Kind, Ns};
use rustc_hash::FxHashMap;

use super::JobModel;
use crate::model::graph::{Node, Scenario, What};

/// Sums and counts by name.
type ByName<'a> = FxHashMap<&'a str, (Ns, u64)>;

impl JobModel {
    /// Gives one rank the time that the median rank takes: for each kernel name, and for the host's own work. What
    /// it waits for in calls that the median rank does not make at all, it does not wait for.
    pub(crate) fn as_the_median_rank(&self, place: usize, scenario: &mut Scenario) {
        let ranks = 0..self.ranks.len();
        let kernels: Vec<ByName<'_>> = ranks.clone().map(|i| self.by_name(i, is_own_gpu_work)).collect();
        let waits: Vec<ByName<'_>> = ranks.clone().map(|i| self.by_name(i, is_return)).collect();
        let names = &self.ranks[place].names;
        let of_kernels: Vec<f32> = names.iter().map(|name| kernel_factor(&kernels, place, name)).collect();
        let of_waits: Vec<f32> = names.iter().map(|name| wait_factor(&waits, name)).collect();
        let node_factor = |(node, name): (&Node, &u32)| match node {
            node if is_own_gpu_work(node) => of_kernels[*name as usize],
            node if is_return(node) => of_waits[*name as usize],
            _ => 1.0,
        };
        let graph = &self.coupled.graphs[place];
        scenario.node_factors = vec![Vec::new(); ranks.len()];
        scenario.node_factors[place] =
            graph.nodes.iter().zip(&self.ranks[place].name_of).map(node_factor).collect();
        let hosts = self.coupled.graphs.iter().map(|graph| graph.host_work().as_f64());
        let (own, median) = (graph.host_work().as_f64(), upper_median(hosts.collect()));
        scenario.host_factors = vec![1.0; ranks.len()];
        if own > 0.0 {
            scenario.host_factors[place] = median / own;
        }
    }

    fn by_name(&self, place: usize, counts: fn(&Node) -> bool) -> ByName<'_> {
        let model = &self.ranks[place];
        let mut found = ByName::default();
        for (node, name) in self.coupled.graphs[place].nodes.iter().zip(&model.name_of) {
            if counts(node) {
                let (sum, count) = found.entry(&model.names[*name as usize]).or_default();
                (*sum, *count) = (*sum + (node.end - node.start), *count + 1);
            }
        }
        found
    }
}

/// How long communication takes is not one rank's doing.
fn is_own_gpu_work(node: &Node) -> bool {
    matches!(node.what, What::Gpu(kind) if kind != Kind::Communication)
}

fn is_return(node: &Node) -> bool {
    node.what == What::Return
}

fn kernel_factor(ranks: &[ByName<'_>], place: usize, name: &str) -> f32 {
    let mean = |(sum, count): &(Ns, u64)| sum.as_f64() / *count as f64;
    let own = ranks[place].get(name).map_or(0.0, mean);
    let means = ranks.iter().filter_map(|of| of.get(name)).map(mean).collect();
    if own > 0.0 { (upper_median(means) / own) as f32 } else { 1.0 }
}

fn wait_factor(ranks: &[ByName<'_>], name: &str) -> f32 {
    let with = ranks.iter().filter(|of| of.contains_key(name)).count();
    if with * 2 >= ranks.len() { 1.0 } else { 0.0 }
}

/// The middle one; the upper of two.
fn upper_median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
