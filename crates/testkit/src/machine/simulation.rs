//! Runs the programs of all ranks as a discrete-event simulation: what is due next happens next, on whatever host or
//! stream it is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::change::{Change, Changes};
use super::gpu::Gpu;
use super::hardware::Hardware;
use super::host::Host;
use super::program::{Program, Transfer};
use super::record::Record;

/// What may be due on a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// The work of a call reaches the driver; the instruction is that call.
    Submission(usize),
    /// The host goes on.
    Host,
    /// A stream may have something to start.
    Stream(usize),
    /// The oldest running work of a stream ends.
    End(usize),
}

#[derive(Debug, Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<(i64, u64, usize, Due)>>,
    added: u64,
}

impl Agenda {
    pub(super) fn add(&mut self, at: i64, rank: usize, due: Due) {
        self.added += 1;
        self.heap.push(Reverse((at, self.added, rank, due)));
    }
}

/// A transfer between ranks in progress.
#[derive(Debug, Clone, Default)]
pub(super) struct Meeting {
    /// The ranks that have arrived, and on which stream.
    pub(super) arrived: Vec<(usize, usize)>,
}

#[derive(Debug)]
pub(super) struct Simulation<'p> {
    pub(super) hardware: &'p Hardware,
    pub(super) programs: &'p [Program],
    pub(super) transfers: &'p [Transfer],
    pub(super) changes: Changes<'p>,
    pub(super) agenda: Agenda,
    pub(super) hosts: Vec<Host>,
    pub(super) gpus: Vec<Gpu>,
    pub(super) records: Vec<Record>,
    pub(super) meetings: Vec<Meeting>,
}

/// Runs a job to its end and returns what happened on every rank.
pub(super) fn run(
    hardware: &Hardware,
    programs: &[Program],
    transfers: &[Transfer],
    changes: &[Change],
) -> Vec<Record> {
    let record = |program: &Program| Record { events: vec![None; program.events], ..Record::default() };
    let mut simulation = Simulation {
        hardware,
        programs,
        transfers,
        changes: Changes(changes),
        agenda: Agenda::default(),
        hosts: programs.iter().map(|_| Host::default()).collect(),
        gpus: programs.iter().map(Gpu::new).collect(),
        records: programs.iter().map(record).collect(),
        meetings: vec![Meeting::default(); transfers.len()],
    };
    for rank in 0..programs.len() {
        simulation.agenda.add(0, rank, Due::Host);
    }
    simulation.run_to_the_end();
    simulation.records
}

impl Simulation<'_> {
    fn run_to_the_end(&mut self) {
        while let Some(Reverse((now, _, rank, due))) = self.agenda.heap.pop() {
            match due {
                Due::Submission(instruction) => self.submit(rank, instruction, now),
                Due::Host => self.host_goes_on(rank, now),
                Due::Stream(stream) => self.advance(rank, stream, now),
                Due::End(stream) => self.finish(rank, stream, now),
            }
        }
    }
}
