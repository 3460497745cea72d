//! What holds the host up before a block: each cause as a profiler would show it, with the time where it is really
//! spent. A wait for the GPU lasts until the GPU has nothing left to do and then for as long as was planted.

use crate::action::{Action, Scope};
use crate::catalog::{self, CopyKind};
use crate::event::{Link, Name, Stream};
use crate::fault::{Fault, StallCause};
use crate::program::Builder;
use crate::shapes::Shape;

/// Small launches between which plain Python runs.
const PYTHON_PIECES: i64 = 4;
const SMALL_KERNEL_NS: i64 = 2_400;

impl Builder<'_> {
    /// Once per block of the first micro-batch; a replayed graph has no host between its blocks.
    pub(crate) fn host_stalls(&mut self, microbatch: u32) {
        if microbatch > 0 || self.graph.is_some() {
            return;
        }
        for (index, fault) in self.faults_here() {
            let Fault::HostBound { cause, ns_per_block, .. } = fault else { continue };
            self.push(Action::Plant(index));
            self.stall(cause, ns_per_block);
            self.push(Action::Planted);
        }
    }

    fn stall(&mut self, cause: StallCause, ns: i64) {
        match cause {
            StallCause::StreamSynchronize => {
                self.python("torch/cuda/streams.py(105): synchronize");
                self.push(Action::SyncStream { stream: Stream::Compute, extra_ns: ns });
                self.end_python();
            }
            StallCause::DeviceSynchronize => {
                self.python("torch/cuda/__init__.py(974): synchronize");
                self.push(Action::SyncDevice { extra_ns: ns });
                self.end_python();
            }
            StallCause::Item => self.item(ns),
            StallCause::BlockingCopy => self.blocking_copy(ns),
            StallCause::Malloc => {
                self.op("aten::empty", Shape::None, Link::None);
                // Giving memory back waits for all work that may still use it.
                self.push(Action::DrainingCall { call: catalog::FREE, ns: ns / 3 });
                self.push(Action::Call { call: catalog::MALLOC, ns: ns - ns / 3 });
                self.close();
            }
            StallCause::GarbageCollection => {
                self.open(Scope::Python(Name::plain("<built-in function collect>")));
                self.open(Scope::Python(Name::plain("Python GC")));
                self.push(Action::Hold(ns));
                self.close();
                self.close();
            }
            StallCause::Recompilation => self.recompilation(ns),
            StallCause::Python => self.plain_python(ns),
        }
    }

    fn item(&mut self, ns: i64) {
        self.op("aten::item", Shape::None, Link::None);
        self.op("aten::_local_scalar_dense", Shape::None, Link::None);
        let (kind, stream) = (CopyKind::DeviceToHost, Stream::Compute);
        self.push(Action::Copy { kind, bytes: 4, stream });
        self.push(Action::SyncStream { stream, extra_ns: ns });
        self.close();
        self.close();
    }

    /// As long a copy as was planted, from memory the device cannot reach.
    fn blocking_copy(&mut self, ns: i64) {
        self.op("aten::to", Shape::None, Link::None);
        self.op("aten::_to_copy", Shape::None, Link::None);
        self.op("aten::copy_", Shape::None, Link::None);
        self.push(Action::HeldCopy {
            call: catalog::BLOCKING_MEMCPY,
            kind: CopyKind::PageableToDevice,
            bytes: CopyKind::pageable_bytes_in(ns),
        });
        self.close();
        self.close();
        self.close();
    }

    /// A guard fails, so the frame is compiled again before its kernel can run.
    fn recompilation(&mut self, ns: i64) {
        self.op("TorchDynamo Cache Lookup", Shape::None, Link::None);
        self.push(Action::Hold(20_000));
        self.close();
        for name in ["_compile.compile_inner (dynamo_timed)", "compile_fx_inner (dynamo_timed)"] {
            self.open(Scope::Annotation(Name::plain(name)));
        }
        self.python("torch/_inductor/graph.py(2018): compile_to_module");
        self.push(Action::Hold(ns));
        self.end_python();
        self.close();
        self.close();
        self.op("Torch-Compiled Region: 0/1", Shape::None, Link::None);
        self.launch(&catalog::COMPILED, SMALL_KERNEL_NS);
        self.close();
    }

    fn plain_python(&mut self, ns: i64) {
        self.python("model.py(88): build_mask");
        for piece in 0..PYTHON_PIECES {
            self.python("model.py(93): <listcomp>");
            self.push(Action::Hold(ns * (piece + 1) / PYTHON_PIECES - ns * piece / PYTHON_PIECES));
            self.end_python();
            self.op("aten::add", Shape::HiddenPair, Link::None);
            self.launch(&catalog::ADD, SMALL_KERNEL_NS);
            self.close();
        }
        self.end_python();
    }
}
