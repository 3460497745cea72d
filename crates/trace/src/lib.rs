//! What a GPU trace is in memory: columns of events, interned names, links between events, and the algebra of
//! time. Knows no file format and does no input or output.

mod annotations;
mod args;
mod builder;
mod class;
pub mod compile_log;
mod holds;
mod index;
mod intervals;
mod kept;
mod kinds;
pub mod lists;
mod memory_timeline;
pub mod metadata;
mod names;
pub mod quality;
mod record;
mod select;
mod serving;
pub mod side_tables;
mod split;
mod strings;
mod tag;
mod time;
mod trace;
mod track;
mod view;

pub use annotations::FETCHING;
pub use args::{Arg, ArgSet, ArgType, Group};
pub use builder::Builder;
pub use class::{Class, Flow};
pub use holds::{Holds, KernelSum, MeasuredLaunch, Metric, MetricRule, MetricValue, Metrics, Payload};
pub use index::{
    Autograd, GpuEvent, GpuEvents, Index, Innermost, Launches, LinkedBy, Nesting, Order, Step, StepCursor,
    StepMarker, StepOrigin, Steps,
};
pub use intervals::{Interval, TimeSet};
pub use kept::kept_elements;
pub use kinds::{Kind, KindRules};
pub use memory_timeline::{MemoryCategory, MemoryChange, MemoryTimeline};
pub use metadata::Metadata;
pub use names::brief;
pub use quality::{Code, Quality, Severity};
pub use record::Record;
pub use select::{Bitmap, Criteria, Selection};
pub use serving::{Batch, ServingPhase, ServingStep};
pub use side_tables::Args;
pub use strings::{StrId, Strings};
pub use tag::{Phase, Tag, TagId, Tags};
pub use time::Ns;
pub use trace::{Columns, FlowPoint, Flows, Reading, Row, Trace};
pub use track::{Id, Label, ThreadId, Track, TrackId, TrackKey, Tracks};
pub use view::View;
