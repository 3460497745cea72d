//! What one process has compiled so far.

use gpuscope_trace::compile_log::{Compilation, CompileId, CompileLog, Edge, Mark};
use rustc_hash::FxHashMap;

use super::event::Timed;

/// Events around a whole compilation: the first of them begins it.
const OUTERMOST: [&str; 2] = ["dynamo", "entire_frame_compile"];

#[derive(Debug, Default)]
pub(super) struct Process {
    pub log: CompileLog,
    /// The latest compilation with an id: ids are given anew after `torch._dynamo.reset()`.
    latest: FxHashMap<CompileId, u32>,
}

impl Process {
    /// The compilation that a record is about.
    pub(super) fn compilation(&mut self, id: CompileId) -> u32 {
        let log = &mut self.log;
        *self.latest.entry(id).or_insert_with(|| {
            log.compilations.push(Compilation { id, ..Compilation::default() });
            log.compilations.len() as u32 - 1
        })
    }

    /// The same where the record begins one.
    pub(super) fn begins(&mut self, id: CompileId) -> u32 {
        let before = self.latest.get(&id).map(|place| self.log.compilations[*place as usize].ended);
        if before == Some(true) {
            self.latest.remove(&id);
        }
        self.compilation(id)
    }

    pub(super) fn get(&mut self, place: u32) -> &mut Compilation {
        &mut self.log.compilations[place as usize]
    }

    /// Marks when something began or ended; `id` is that of the record.
    pub(super) fn mark(&mut self, timed: &Timed, id: Option<CompileId>) {
        let id = timed.id.or(id);
        for (edge, at) in &timed.edges {
            let begins = *edge == Edge::Begin && OUTERMOST.contains(&timed.name.as_str());
            let compilation = id.map(|id| if begins { self.begins(id) } else { self.compilation(id) });
            let name = self.log.names.intern(timed.name.as_bytes());
            self.log.marks.push(Mark { name, at: *at, edge: *edge, compilation });
        }
    }

    /// Takes over what a part of the log said that did not name the process.
    pub(super) fn absorb(&mut self, other: Process) {
        let before = self.log.compilations.len() as u32;
        self.log.compilations.extend(other.log.compilations);
        for mark in other.log.marks {
            let name = self.log.names.intern(other.log.names.get(mark.name).as_bytes());
            let compilation = mark.compilation.map(|place| place + before);
            self.log.marks.push(Mark { name, compilation, ..mark });
        }
        self.log.records += other.log.records;
        self.log.torch_version = self.log.torch_version.take().or(other.log.torch_version);
    }
}
