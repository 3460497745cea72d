//! The next batch: fetched by the data loader, then copied to the device.

use crate::action::{Action, Scope};
use crate::catalog::{self, CopyKind};
use crate::event::{Link, Name, Stream};
use crate::fault::Fault;
use crate::program::{Builder, INPUT_READY, INPUT_USED};
use crate::purpose::Phase;
use crate::shapes::Shape;

impl Builder<'_> {
    pub(crate) fn load_data(&mut self) {
        self.fetch();
        let bytes = if self.plan.input_bytes > 0 { self.plan.input_bytes } else { 8 * self.costs.tokens };
        let unpinned =
            self.faults_here().into_iter().find(|(_, fault)| matches!(fault, Fault::UnpinnedInput { .. }));
        match unpinned {
            Some((index, _)) => self.copy_from_pageable(index, bytes),
            None => self.copy_from_pinned(bytes),
        }
        if self.full() {
            // Nothing tells this one from any other copy on the device.
            self.phase(Phase::Other);
            self.op("aten::contiguous", Shape::None, Link::None);
            self.op("aten::clone", Shape::None, Link::None);
            self.op("aten::copy_", Shape::None, Link::None);
            self.push(Action::Copy { kind: CopyKind::DeviceToDevice, bytes, stream: Stream::Compute });
            self.close();
            self.close();
            self.close();
        }
    }

    fn fetch(&mut self) {
        self.open(Scope::Annotation(Name::plain(
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        )));
        self.python("torch/utils/data/dataloader.py(788): _next_data");
        self.work(140_000);
        for (index, fault) in self.faults_here() {
            if let Fault::DataLoaderStall { ns, .. } = fault {
                self.push(Action::Plant(index));
                self.python("torch/utils/data/_utils/fetch.py(51): fetch");
                self.push(Action::Hold(ns));
                self.end_python();
                self.push(Action::Planted);
            }
        }
        self.end_python();
        self.close();
    }

    fn copy_from_pinned(&mut self, bytes: i64) {
        // There is one input buffer, and the step before still reads it.
        self.push(Action::Wait { stream: Stream::Copy, slot: INPUT_USED });
        self.open_copy();
        self.push(Action::Copy { kind: CopyKind::HostToDevice, bytes, stream: Stream::Copy });
        self.close_copy();
        self.push(Action::Record { slot: INPUT_READY, stream: Stream::Copy });
        self.push(Action::Wait { stream: Stream::Compute, slot: INPUT_READY });
    }

    /// On the compute stream, while the host looks on.
    fn copy_from_pageable(&mut self, fault: usize, bytes: i64) {
        self.open_copy();
        self.push(Action::HeldCopy { call: catalog::MEMCPY, kind: CopyKind::PageableToDevice, bytes });
        self.push(Action::Plant(fault));
        self.push(Action::SyncStream { stream: Stream::Compute, extra_ns: 0 });
        self.push(Action::Planted);
        self.close_copy();
    }

    fn open_copy(&mut self) {
        self.op("aten::to", Shape::None, Link::None);
        self.op("aten::_to_copy", Shape::None, Link::None);
        self.op("aten::copy_", Shape::None, Link::None);
        self.work(1_500);
    }

    fn close_copy(&mut self) {
        self.close();
        self.close();
        self.close();
    }
}
