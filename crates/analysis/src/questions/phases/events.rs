//! The phase of every GPU event.

use gpuscope_trace::{Arg, GpuEvent, Kind, Row, StrId, View};
use rustc_hash::FxHashMap;

use super::Phase;
use super::pass::{Pass, Passes};
use crate::collectives::Op;

/// One phase per event of `view.index.gpu(…)`, in that order, selected or not.
pub(crate) fn of(view: View<'_>) -> Vec<Phase> {
    let mut passes = Passes::new(view);
    let mut names = Names::default();
    let events = view.index.gpu(view.trace);
    events.iter().map(|event| phase(view, &mut passes, &mut names, event)).collect()
}

fn phase(view: View<'_>, passes: &mut Passes<'_>, names: &mut Names, event: &GpuEvent) -> Phase {
    let Some(call) = view.launch(event.row) else { return Phase::Unattributed };
    match passes.of(call) {
        Pass::Data => Phase::Data,
        Pass::Backward | Pass::GradientSync if names.reduces(view, event) => Phase::GradientCommunication,
        Pass::Backward | Pass::BackwardOfOperator => Phase::Backward,
        Pass::Recompute => Phase::Recompute,
        Pass::Optimizer => Phase::Optimizer,
        Pass::Unknown | Pass::Outside | Pass::Recordable if names.brings_data(view, event) => Phase::Data,
        Pass::Forward | Pass::Recordable => Phase::Forward,
        // A replayed graph may hold any pass.
        Pass::Outside if view.index.launches(view.trace).is_shared(call) => Phase::Unattributed,
        Pass::Outside | Pass::GradientSync => Phase::Other,
        Pass::Unknown => Phase::Unattributed,
    }
}

/// What names of GPU events tell, each read once.
#[derive(Default)]
struct Names {
    reductions: FxHashMap<StrId, bool>,
    from_host: FxHashMap<StrId, bool>,
}

impl Names {
    /// A collective that adds up what the ranks have.
    fn reduces(&mut self, view: View<'_>, event: &GpuEvent) -> bool {
        if event.kind != Kind::Communication {
            return false;
        }
        let name = collective(view, event.row).unwrap_or_else(|| view.trace.name_id(event.row));
        let reduces = |name| matches!(Op::of_name(name), Op::AllReduce | Op::ReduceScatter | Op::Reduce);
        *self.reductions.entry(name).or_insert_with(|| reduces(view.trace.strings.get(name)))
    }

    /// A copy from the host to the device.
    fn brings_data(&mut self, view: View<'_>, event: &GpuEvent) -> bool {
        if event.kind != Kind::Memcpy {
            return false;
        }
        let name = view.trace.name_id(event.row);
        let from_host = |name: &str| name.contains("HtoD") || name.contains("HostToDevice");
        *self.from_host.entry(name).or_insert_with(|| from_host(view.trace.strings.get(name)))
    }
}

fn collective(view: View<'_>, row: Row) -> Option<StrId> {
    view.trace.args.text(row, Arg::CollectiveName).filter(|name| *name != StrId::EMPTY)
}
