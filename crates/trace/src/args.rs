//! The arguments of events that gpuscope knows, each declared once: its key in a trace, how its value is
//! read, and which side table holds it.
//!
//! Readers fill a [`crate::Record`] by these names, the builder spreads the record over the side tables, and
//! analyses ask for a value by row. To keep one more argument, add one line to the table below.

use crate::strings::StrId;

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

    pub fn iter(self) -> impl Iterator<Item = Arg> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let next = Arg::ALL.get(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(*next)
        })
    }

    /// The side tables that hold these arguments, as bits.
    pub(crate) fn tables(self) -> u32 {
        self.iter().filter(|arg| arg.is_stored()).fold(0, |bits, arg| bits | 1 << arg.group() as u8)
    }
}

const _: () = assert!(Arg::COUNT <= 128, "an ArgSet has 128 bits");

/// The values of one argument, one per row of its side table. Integers take 32 bits each until one does not
/// fit; then the whole column becomes 64 bits wide.
#[derive(Clone, Debug)]
pub enum ArgColumn {
    Narrow(Vec<i32>),
    Wide(Vec<i64>),
}

const NARROW_ABSENT: i32 = i32::MIN;
/// Stands for "no value" in wide columns.
pub const ABSENT: i64 = i64::MIN;

impl Default for ArgColumn {
    fn default() -> Self {
        ArgColumn::Narrow(Vec::new())
    }
}

impl ArgColumn {
    #[inline]
    pub(crate) fn push(&mut self, value: i64) {
        if let ArgColumn::Narrow(values) = self {
            if value > i64::from(NARROW_ABSENT) && value <= i64::from(i32::MAX) {
                values.push(value as i32);
                return;
            }
            if value == ABSENT {
                values.push(NARROW_ABSENT);
                return;
            }
        }
        self.push_wide(value);
    }

    #[cold]
    fn push_wide(&mut self, value: i64) {
        if let ArgColumn::Narrow(values) = self {
            *self = ArgColumn::Wide((0..values.len()).map(|i| narrow(values[i]).unwrap_or(ABSENT)).collect());
        }
        if let ArgColumn::Wide(values) = self {
            values.push(value);
        }
    }

    #[inline]
    pub fn get(&self, index: usize) -> Option<i64> {
        match self {
            ArgColumn::Narrow(values) => narrow(values[index]),
            ArgColumn::Wide(values) => Some(values[index]).filter(|v| *v != ABSENT),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            ArgColumn::Narrow(values) => values.len(),
            ArgColumn::Wide(values) => values.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn heap_bytes(&self) -> usize {
        match self {
            ArgColumn::Narrow(values) => values.capacity() * 4,
            ArgColumn::Wide(values) => values.capacity() * 8,
        }
    }
}

#[inline]
fn narrow(value: i32) -> Option<i64> {
    (value != NARROW_ABSENT).then_some(i64::from(value))
}

/// One side table: the rows that have any argument of a group, ascending, and a column per argument.
#[derive(Clone, Debug, Default)]
pub struct ArgTable {
    rows: Vec<u32>,
    columns: Vec<ArgColumn>,
}

impl ArgTable {
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Where a row stands in this table.
    pub fn find(&self, row: u32) -> Option<usize> {
        self.rows.binary_search(&row).ok()
    }
}

/// All side tables of a trace.
#[derive(Clone, Debug)]
pub struct Args {
    tables: [ArgTable; Group::COUNT],
}

/// The position of each argument inside its group.
const POSITION: [u8; Arg::COUNT] = {
    let mut position = [0; Arg::COUNT];
    let mut next = [0u8; Group::COUNT];
    let mut i = 0;
    while i < Arg::COUNT {
        let group = Arg::ALL[i].group() as usize;
        position[i] = next[group];
        next[group] += 1;
        i += 1;
    }
    position
};

/// The arguments of each group, in the order of their columns.
const MEMBERS: [ArgSet; Group::COUNT] = {
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

impl Default for Args {
    fn default() -> Self {
        let mut tables: [ArgTable; Group::COUNT] = std::array::from_fn(|_| ArgTable::default());
        for arg in Arg::ALL {
            tables[arg.group() as usize].columns.push(ArgColumn::default());
        }
        Args { tables }
    }
}

impl Args {
    /// Spreads the arguments of one event over the tables of their groups, given as bits.
    #[inline]
    pub(crate) fn push(&mut self, row: u32, mut tables: u32, present: ArgSet, values: &[i64; Arg::COUNT]) {
        while tables != 0 {
            self.push_group(tables.trailing_zeros() as usize, row, present, values);
            tables &= tables - 1;
        }
    }

    #[inline]
    fn push_group(&mut self, group: usize, row: u32, present: ArgSet, values: &[i64; Arg::COUNT]) {
        let table = &mut self.tables[group];
        table.rows.push(row);
        let mut members = MEMBERS[group].0;
        for column in &mut table.columns {
            let arg = members.trailing_zeros() as usize;
            members &= members - 1;
            column.push(if present.0 >> arg & 1 == 1 { values[arg] } else { ABSENT });
        }
    }

    pub fn table(&self, group: Group) -> &ArgTable {
        &self.tables[group as usize]
    }

    pub fn column(&self, arg: Arg) -> &ArgColumn {
        &self.tables[arg.group() as usize].columns[POSITION[arg as usize] as usize]
    }

    /// Rows and values of an integer or id argument, in row order.
    pub fn iter(&self, arg: Arg) -> impl Iterator<Item = (u32, i64)> {
        let column = self.column(arg);
        self.table(arg.group()).rows.iter().enumerate().filter_map(|(i, row)| Some((*row, column.get(i)?)))
    }

    /// Rows and texts of a text argument, in row order.
    pub fn texts(&self, arg: Arg) -> impl Iterator<Item = (u32, StrId)> {
        debug_assert_eq!(arg.arg_type(), ArgType::Text);
        self.iter(arg).map(|(row, value)| (row, StrId(value as u32)))
    }

    pub fn int(&self, row: u32, arg: Arg) -> Option<i64> {
        debug_assert_eq!(arg.arg_type(), ArgType::Int);
        self.raw(row, arg)
    }

    pub fn float(&self, row: u32, arg: Arg) -> Option<f32> {
        debug_assert_eq!(arg.arg_type(), ArgType::Float);
        self.raw(row, arg).map(float_from_slot)
    }

    pub fn text(&self, row: u32, arg: Arg) -> Option<StrId> {
        debug_assert_eq!(arg.arg_type(), ArgType::Text);
        self.raw(row, arg).map(|value| StrId(value as u32))
    }

    fn raw(&self, row: u32, arg: Arg) -> Option<i64> {
        self.column(arg).get(self.table(arg.group()).find(row)?)
    }

    pub fn heap_bytes(&self) -> usize {
        let table =
            |t: &ArgTable| t.rows.capacity() * 4 + t.columns.iter().map(ArgColumn::heap_bytes).sum::<usize>();
        self.tables.iter().map(table).sum()
    }
}

/// Floats travel in the same 64-bit slots as everything else, as their bits.
pub fn float_to_slot(value: f64) -> i64 {
    i64::from((value as f32).to_bits() as i32)
}

pub fn float_from_slot(slot: i64) -> f32 {
    f32::from_bits(slot as i32 as u32)
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

    #[test]
    fn a_column_widens_when_a_value_needs_it() {
        let mut column = ArgColumn::default();
        for value in [7, ABSENT, -1, i64::from(i32::MAX), 4_294_967_295, i64::from(i32::MIN)] {
            column.push(value);
        }
        let values: Vec<_> = (0..column.len()).map(|i| column.get(i)).collect();
        assert_eq!(
            values,
            [
                Some(7),
                None,
                Some(-1),
                Some(i64::from(i32::MAX)),
                Some(4_294_967_295),
                Some(i64::from(i32::MIN))
            ]
        );
    }

    #[test]
    fn arguments_come_back_by_row() {
        let mut args = Args::default();
        let mut values = [0; Arg::COUNT];
        values[Arg::Correlation as usize] = 42;
        values[Arg::Occupancy as usize] = float_to_slot(37.5);
        let present = ArgSet::EMPTY.with(Arg::Correlation).with(Arg::Occupancy);
        args.push(3, present.tables(), present, &values);
        assert_eq!(args.int(3, Arg::Correlation), Some(42));
        assert_eq!(args.float(3, Arg::Occupancy), Some(37.5));
        assert_eq!(args.int(3, Arg::ExternalId), None);
        assert_eq!(args.int(2, Arg::Correlation), None);
        assert_eq!(args.iter(Arg::Correlation).collect::<Vec<_>>(), [(3, 42)]);
    }
}
