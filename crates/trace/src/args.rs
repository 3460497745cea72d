//! The arguments of events that gpuscope knows, each declared once: its key in a trace, how its value is
//! read, and which side table holds it.
//!
//! Readers fill a [`crate::Record`] by these names, the builder spreads the record over the side tables, and
//! analyses ask for a value by row. To keep one more argument, add one line to the table below.

/// How the value of an argument is read and stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgType {
    /// An integer of up to 64 bits. Quoted decimal numbers count, anything else is absent.
    Int,
    /// A number with a fraction, kept as `f32`.
    Float,
    /// A string, or the raw text of a list, object, number or boolean; interned.
    Text,
    /// An integer, or a string that is no number, as in `"stream": "0x0"`.
    Id,
}

/// Arguments that usually occur together share a side table, so that the row number is stored once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Group {
    Place,
    Link,
    Launch,
    Launched,
    Graph,
    Copy,
    ProfilerIndex,
    RecordFunction,
    Autograd,
    Inputs,
    Stack,
    Flops,
    Triton,
    Python,
    Module,
    Memory,
    Sync,
    Collective,
    CollectiveRank,
    MergedRank,
    Nvtx,
    Xla,
    Label,
}

impl Group {
    pub const COUNT: usize = Group::Label as usize + 1;
}

macro_rules! arguments {
    ($($variant:ident $group:ident $type:ident [$($key:literal),+];)*) => {
        /// An argument that has a place in the columns.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Arg { $($variant),* }

        impl Arg {
            pub const ALL: &'static [Arg] = &[$(Arg::$variant),*];
            pub const COUNT: usize = Self::ALL.len();

            pub const fn group(self) -> Group {
                match self { $(Arg::$variant => Group::$group),* }
            }

            pub const fn arg_type(self) -> ArgType {
                match self { $(Arg::$variant => ArgType::$type),* }
            }

            /// The keys by which traces name this argument, the current one first.
            pub const fn keys(self) -> &'static [&'static str] {
                match self { $(Arg::$variant => &[$($key),+]),* }
            }

            /// The argument with this key (unescaped).
            #[inline]
            pub fn from_key(key: &[u8]) -> Option<Arg> {
                // A match on byte strings compiles to comparisons by length first.
                $($(if key == $key.as_bytes() { return Some(Arg::$variant); })+)*
                None
            }
        }
    };
}

arguments! {
    Device              Place           Id    ["device"];
    Stream              Place           Id    ["stream"];

    Correlation         Link            Int   ["correlation", "correlation_id"];
    ExternalId          Link            Int   ["External id", "external id"];

    Grid                Launch          Text  ["grid"];
    Block               Launch          Text  ["block"];
    Registers           Launch          Int   ["registers per thread"];
    SharedMemory        Launch          Int   ["shared memory"];
    BlocksPerSm         Launch          Float ["blocks per SM"];
    WarpsPerSm          Launch          Float ["warps per SM"];
    Occupancy           Launch          Float ["est. achieved occupancy %"];
    Queued              Launch          Int   ["queued"];
    Context             Launch          Int   ["context"];

    LaunchedKernel      Launched        Text  ["kernel"];

    GraphId             Graph           Int   ["graph id"];
    GraphNodeId         Graph           Int   ["graph node id"];

    Bytes               Copy            Int   ["bytes"];
    Bandwidth           Copy            Float ["memory bandwidth (GB/s)"];
    CopyKind            Copy            Text  ["kind"];
    Source              Copy            Text  ["fromDevice", "src"];
    Destination         Copy            Text  ["toDevice", "dst"];

    EvIdx               ProfilerIndex   Int   ["Ev Idx", "Profiler Event Index"];
    RecordFunctionId    RecordFunction  Int   ["Record function id"];

    SequenceNumber      Autograd        Int   ["Sequence number"];
    FwdThreadId         Autograd        Int   ["Fwd thread id"];

    InputDims           Inputs          Text  ["Input Dims", "Input dims"];
    InputTypes          Inputs          Text  ["Input type"];
    InputStrides        Inputs          Text  ["Input Strides"];
    ConcreteInputs      Inputs          Text  ["Concrete Inputs"];

    CallStack           Stack           Text  ["Call stack"];
    ModuleHierarchy     Stack           Text  ["Module Hierarchy"];

    Flops               Flops           Int   ["flops", "Flops"];

    KernelBackend       Triton          Text  ["kernel_backend"];
    KernelFile          Triton          Text  ["kernel_file"];
    KernelHash          Triton          Text  ["kernel_hash"];
    KernelKwargs        Triton          Text  ["kernel_kwargs"];
    KernelName          Triton          Text  ["kernel_name"];
    NumWarps            Triton          Int   ["num_warps"];
    NumStages           Triton          Int   ["num_stages"];

    PythonId            Python          Int   ["Python id"];
    PythonParentId      Python          Int   ["Python parent id"];
    PythonModuleId      Module          Int   ["Python module id"];

    TotalReserved       Memory          Int   ["Total Reserved"];
    TotalAllocated      Memory          Int   ["Total Allocated"];
    AllocationBytes     Memory          Int   ["Bytes"];
    Address             Memory          Int   ["Addr"];
    DeviceType          Memory          Int   ["Device Type"];
    DeviceId            Memory          Int   ["Device Id"];

    SyncKind            Sync            Text  ["cuda_sync_kind"];
    WaitOnStream        Sync            Int   ["wait_on_stream"];
    WaitOnRecordCorrelation Sync        Int   ["wait_on_cuda_event_record_corr_id"];
    WaitOnEventId       Sync            Int   ["wait_on_cuda_event_id"];
    EventId             Sync            Int   ["event_id"];

    CollectiveName      Collective      Text  ["Collective name"];
    Dtype               Collective      Text  ["dtype"];
    InMsgNelems         Collective      Int   ["In msg nelems"];
    OutMsgNelems        Collective      Int   ["Out msg nelems"];
    InSplitSize         Collective      Text  ["In split size"];
    OutSplitSize        Collective      Text  ["Out split size"];
    GroupSize           Collective      Int   ["Group size"];
    GroupName           Collective      Text  ["Process Group Name"];
    GroupDescription    Collective      Text  ["Process Group Description"];
    GroupRanks          Collective      Text  ["Process Group Ranks"];
    CollectiveSeq       Collective      Int   ["Seq"];
    CommsId             Collective      Text  ["Comms Id"];

    CollectiveRank      CollectiveRank  Int   ["Rank"];
    SourceRank          CollectiveRank  Int   ["Src Rank"];
    DestinationRank     CollectiveRank  Int   ["Dst Rank"];
    GlobalRankStart     CollectiveRank  Int   ["Global rank start"];
    GlobalRankStride    CollectiveRank  Int   ["Global rank stride"];
    IsAsync             CollectiveRank  Text  ["Is asynchronized op"];
    InputTensorsStart   CollectiveRank  Text  ["Input Tensors start"];
    OutputTensorsStart  CollectiveRank  Text  ["Output Tensors start"];

    MergedRank          MergedRank      Int   ["rank"];

    NvtxText            Nvtx            Text  ["nvtx text"];

    HloOp               Xla             Text  ["hlo_op"];
    HloModule           Xla             Text  ["hlo_module"];
    TfOp                Xla             Text  ["tf_op"];

    LabelName           Label           Text  ["name"];
    LabelText           Label           Text  ["labels"];
    SortIndex           Label           Int   ["sort_index"];
}

/// One set of arguments as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArgSet(u128);

impl ArgSet {
    pub const EMPTY: ArgSet = ArgSet(0);

    #[must_use]
    pub const fn with(self, arg: Arg) -> ArgSet {
        ArgSet(self.0 | 1 << arg as u8)
    }

    #[must_use]
    pub const fn without(self, arg: Arg) -> ArgSet {
        ArgSet(self.0 & !(1 << arg as u8))
    }

    #[inline]
    pub const fn has(self, arg: Arg) -> bool {
        self.0 >> arg as u8 & 1 == 1
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub const fn intersects(self, other: ArgSet) -> bool {
        self.0 & other.0 != 0
    }

    /// All arguments of one side table.
    pub const fn of(group: Group) -> ArgSet {
        MEMBERS[group as usize]
    }

    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Arg> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let next = Arg::ALL.get(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(*next)
        })
    }

    /// The side tables that hold these arguments, as bits.
    pub fn tables(self) -> u32 {
        self.iter().filter(|arg| arg.is_stored()).fold(0, |bits, arg| bits | 1 << arg.group() as u8)
    }
}

const _: () = assert!(Arg::COUNT <= 128, "an ArgSet has 128 bits");

/// The arguments of each group, in the order of their columns.
pub(crate) const MEMBERS: [ArgSet; Group::COUNT] = {
    let mut members = [ArgSet::EMPTY; Group::COUNT];
    let mut i = 0;
    while i < Arg::COUNT {
        let group = Arg::ALL[i].group() as usize;
        members[group] = members[group].with(Arg::ALL[i]);
        i += 1;
    }
    members
};

impl Arg {
    /// Place lives in the track, labels in the track's names: neither has a side table.
    pub const fn is_stored(self) -> bool {
        !matches!(self.group(), Group::Place | Group::Label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_names_its_argument() {
        for arg in Arg::ALL {
            for key in arg.keys() {
                assert_eq!(Arg::from_key(key.as_bytes()), Some(*arg), "{key}");
            }
        }
        assert_eq!(Arg::from_key(b"no such argument"), None);
    }
}
