//! What was wrong with the data. Every answer carries these entries: a number that rests on damaged or
//! incomplete data says so.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Info,
    Warning,
    Error,
}

/// Stable names of what can be wrong, the same in JSON and in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    Truncated,
    Corrupt,
    UnreadableInput,
    MalformedEvents,
    MalformedEntries,
    NoGpuEvents,
    HostOnly,
    ProfilerOverhead,
    PartialFirstStep,
    DroppedEvents,
    RecorderRemarks,
    OtherContents,
    InferredSteps,
    NoSyncEvents,
    UnexplainedDelays,
    NoMemoryEvents,
    NoCounters,
    UnlinkedCounters,
    TruncatedLists,
    UnlinkedKernels,
    SameStreamOverlap,
    NegativeDuration,
    ZeroDuration,
    MissingDuration,
    UnmatchedBegin,
    InvalidTime,
    KernelBeforeLaunch,
    StepWithoutGpuWork,
    StepsSetApart,
    UnmatchedStepMarker,
    UnrecordedWork,
    GraphLaunchShare,
    MissingShapes,
    MissingModules,
    NoServingSteps,
    NoGraphCapture,
    GraphCapture,
    DuplicateRank,
    MissingRanks,
    OtherCaptures,
    ClockSkew,
    UnknownEvents,
    UnknownGpu,
    DifferentFlops,
    InvalidUtf8,
}

impl Code {
    pub fn severity(self) -> Severity {
        match self {
            Code::Corrupt | Code::UnreadableInput => Severity::Error,
            Code::Truncated
            | Code::MalformedEvents
            | Code::MalformedEntries
            | Code::NoGpuEvents
            | Code::DroppedEvents
            | Code::UnlinkedKernels
            | Code::UnlinkedCounters
            | Code::SameStreamOverlap
            | Code::NegativeDuration
            | Code::MissingDuration
            | Code::UnmatchedBegin
            | Code::InvalidTime
            | Code::KernelBeforeLaunch
            | Code::StepWithoutGpuWork
            | Code::UnmatchedStepMarker
            | Code::PartialFirstStep
            | Code::TruncatedLists
            | Code::UnexplainedDelays
            | Code::DuplicateRank
            | Code::ClockSkew
            | Code::InvalidUtf8 => Severity::Warning,
            Code::HostOnly
            | Code::ProfilerOverhead
            | Code::RecorderRemarks
            | Code::OtherContents
            | Code::InferredSteps
            | Code::StepsSetApart
            | Code::NoSyncEvents
            | Code::NoMemoryEvents
            | Code::NoCounters
            | Code::ZeroDuration
            | Code::GraphLaunchShare
            | Code::UnrecordedWork
            | Code::MissingShapes
            | Code::MissingModules
            | Code::NoServingSteps
            | Code::NoGraphCapture
            | Code::GraphCapture
            | Code::MissingRanks
            | Code::OtherCaptures
            | Code::UnknownEvents
            | Code::UnknownGpu
            | Code::DifferentFlops => Severity::Info,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quality {
    pub code: Code,
    pub severity: Severity,
    pub rank: Option<u32>,
    pub count: u64,
    pub message: String,
}

impl Quality {
    pub fn new(code: Code, count: u64, message: impl Into<String>) -> Quality {
        Quality { code, severity: code.severity(), rank: None, count, message: message.into() }
    }

    #[must_use]
    pub fn of_rank(mut self, rank: u32) -> Quality {
        self.rank = Some(rank);
        self
    }
}
