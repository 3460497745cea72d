//! Small traces written as text: `trace().call(1, 0..3).kernel("gemm", 7, 10..20, 1).step(1, 0..30).build()`.

use std::ops::Range;

use gpuscope_trace::{
    Arg, Builder, Criteria, Id, Index, Ns, Phase, Quality, Record, Selection, StepMarker, Trace, View,
};

use crate::Question;

/// The rank that [`Loaded::ask`] asks.
pub(crate) const RANK: u32 = 3;

pub(crate) fn trace() -> Sample {
    Sample { builder: Builder::default(), device: 0 }
}

/// Launches of 5 us each, kernels of 50 us, and room for `depth` of them.
pub(crate) fn launched_onto(depth: i64, count: i64) -> Loaded {
    launched(depth, count).build()
}

pub(crate) fn launched(depth: i64, count: i64) -> Sample {
    let us = 1000;
    let mut sample = trace();
    let (mut now, mut begins, mut starts) = (0, 10 * us, Vec::new());
    for i in 0..count {
        let called = now;
        let room: Option<&i64> = usize::try_from(i - depth).ok().and_then(|freed| starts.get(freed));
        let returned = room.copied().unwrap_or(0).max(called + 5 * us);
        sample = sample.call(i + 1, called..returned);
        begins = begins.max(returned + us);
        starts.push(begins);
        sample = sample.kernel("k", 7, begins..begins + 50 * us, i + 1);
        begins += 51 * us;
        now = returned + us;
    }
    sample
}

/// An answer as a script sees it.
pub(crate) fn json(answer: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(answer).unwrap()
}

pub(crate) struct Sample {
    builder: Builder,
    device: i64,
}

impl Sample {
    /// GPU events from here on run on this device.
    pub(crate) fn on(mut self, device: i64) -> Sample {
        self.device = device;
        self
    }

    pub(crate) fn kernel(
        self,
        name: &str,
        stream: i64,
        time: Range<i64>,
        corr: impl Into<Option<i64>>,
    ) -> Sample {
        self.gpu("kernel", name, stream, time, corr.into(), &[])
    }

    pub(crate) fn memcpy(
        self,
        name: &str,
        stream: i64,
        time: Range<i64>,
        corr: impl Into<Option<i64>>,
    ) -> Sample {
        self.gpu("gpu_memcpy", name, stream, time, corr.into(), &[])
    }

    pub(crate) fn memset(self, stream: i64, time: Range<i64>, corr: impl Into<Option<i64>>) -> Sample {
        self.gpu("gpu_memset", "Memset (Device)", stream, time, corr.into(), &[])
    }

    /// A kernel that says how far it fills the device.
    pub(crate) fn filling(self, stream: i64, time: Range<i64>, blocks_per_sm: f64, occupancy: f64) -> Sample {
        let floats = [(Arg::BlocksPerSm, blocks_per_sm), (Arg::Occupancy, occupancy)];
        self.gpu("kernel", "gemm", stream, time, None, &floats)
    }

    fn gpu(
        self,
        category: &str,
        name: &str,
        stream: i64,
        time: Range<i64>,
        corr: Option<i64>,
        floats: &[(Arg, f64)],
    ) -> Sample {
        let device = self.device;
        self.event(Phase::Complete, category, name, Some(time.start), Some(time.end - time.start), |record| {
            (record.pid, record.tid) = (Id::Int(device), Id::Int(stream));
            (record.device, record.stream) = (Id::Int(device), Id::Int(stream));
            if let Some(corr) = corr {
                record.set_int(Arg::Correlation, corr);
            }
            for (arg, value) in floats {
                record.set_float(*arg, *value);
            }
        })
    }

    pub(crate) fn call(self, corr: i64, time: Range<i64>) -> Sample {
        self.named_call("cudaLaunchKernel", corr, time)
    }

    pub(crate) fn named_call(self, name: &str, corr: i64, time: Range<i64>) -> Sample {
        let (start, dur) = (time.start, time.end - time.start);
        self.event(Phase::Complete, "cuda_runtime", name, Some(start), Some(dur), |record| {
            record.set_int(Arg::Correlation, corr);
        })
    }

    pub(crate) fn step(self, number: i64, time: Range<i64>) -> Sample {
        self.host("user_annotation", &format!("ProfilerStep#{number}"), time)
    }

    pub(crate) fn host(self, category: &str, name: &str, time: Range<i64>) -> Sample {
        self.event(Phase::Complete, category, name, Some(time.start), Some(time.end - time.start), |_| ())
    }

    /// A host event on a thread, with numbers among its arguments.
    pub(crate) fn on_thread(
        self,
        thread: i64,
        category: &str,
        name: &str,
        time: Range<i64>,
        numbers: &[(Arg, i64)],
    ) -> Sample {
        let (start, dur) = (time.start, time.end - time.start);
        self.event(Phase::Complete, category, name, Some(start), Some(dur), |record| {
            record.tid = Id::Int(thread);
            for (arg, value) in numbers {
                record.set_int(*arg, *value);
            }
        })
    }

    /// An operator with text arguments.
    pub(crate) fn op_with(mut self, texts: &[(Arg, &str)], time: Range<i64>) -> Sample {
        let texts: Vec<_> =
            texts.iter().map(|(arg, text)| (*arg, self.builder.strings().intern(text.as_bytes()))).collect();
        let (start, dur) = (time.start, time.end - time.start);
        self.event(Phase::Complete, "cpu_op", "aten::mm", Some(start), Some(dur), |record| {
            for (arg, text) in texts {
                record.set_text(arg, text);
            }
        })
    }

    /// An operator with the shapes of its tensors, all of one type.
    pub(crate) fn op_on(mut self, name: &str, shapes: &str, time: Range<i64>) -> Sample {
        let tensors = shapes.matches(']').count().saturating_sub(1);
        let types = format!("[{}]", vec!["\"c10::BFloat16\""; tensors].join(", "));
        let texts = [(Arg::InputDims, self.intern(shapes)), (Arg::InputTypes, self.intern(&types))];
        self.event(Phase::Complete, "cpu_op", name, Some(time.start), Some(time.end - time.start), |record| {
            for (arg, text) in texts {
                record.set_text(arg, text);
            }
        })
    }

    /// Texts that later events use.
    pub(crate) fn texts(mut self, intern: impl FnOnce(&mut gpuscope_trace::Strings)) -> Sample {
        intern(self.builder.strings());
        self
    }

    /// Any element at all.
    pub(crate) fn event(
        mut self,
        phase: Phase,
        category: &str,
        name: &str,
        start: Option<i64>,
        dur: Option<i64>,
        fill: impl FnOnce(&mut Record),
    ) -> Sample {
        let category = self.builder.strings().intern(category.as_bytes());
        let mut record = Record::default();
        record.tag = self.builder.tag(phase, category);
        record.name = self.builder.strings().intern(name.as_bytes());
        (record.pid, record.tid) = (Id::Int(1000), Id::Int(1));
        (record.start, record.dur) = (start.map(Ns), dur.map(Ns));
        fill(&mut record);
        self.builder.push(&record);
        self
    }

    pub(crate) fn intern(&mut self, text: &str) -> gpuscope_trace::StrId {
        self.builder.strings().intern(text.as_bytes())
    }

    pub(crate) fn about(mut self, fill: impl FnOnce(&mut gpuscope_trace::Metadata)) -> Sample {
        fill(self.builder.metadata_mut());
        self
    }

    pub(crate) fn build(self) -> Loaded {
        Loaded { trace: self.builder.finish(), index: Index::default() }
    }
}

impl Loaded {
    pub(crate) fn with_steps(mut self, is_step: fn(&str) -> bool) -> Loaded {
        self.index = Index::default().with_step_marker(Some(StepMarker::new(is_step)));
        self
    }
}

pub(crate) struct Loaded {
    pub(crate) trace: Trace,
    index: Index,
}

impl Loaded {
    pub(crate) fn ask<Q: Question>(&self, question: &Q) -> Q::Answer {
        self.ask_about(&Criteria::default(), question)
    }

    pub(crate) fn ask_about<Q: Question>(&self, criteria: &Criteria, question: &Q) -> Q::Answer {
        let selection = Selection::new(&self.trace, &self.index, criteria);
        question.merge(vec![question.local(RANK, self.view(&selection))])
    }

    pub(crate) fn quality(&self) -> Vec<Quality> {
        crate::quality(RANK, self.view(&Selection::everything()))
    }

    pub(crate) fn view<'a>(&'a self, selection: &'a Selection) -> View<'a> {
        View { trace: &self.trace, index: &self.index, selection }
    }
}
