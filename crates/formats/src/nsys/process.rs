//! The processes of a report, each a trace of its own.

use gpuscope_trace::metadata::{Device, Distributed, Recorder};
use gpuscope_trace::{Arg, Builder, Code, Id, Ns, Phase, Quality, Record, StrId, TagId, Trace};
use rustc_hash::FxHashMap;

use crate::ReadError;
use crate::sqlite::Database;

/// A process for rows that do not say theirs.
const UNNAMED: i64 = -1;
/// No name is that long.
const LONGEST_TEXT: usize = 1 << 20;

/// What tells processes apart: machine, and number of the process.
pub(super) fn process_of(global: i64) -> i64 {
    (global as u64 >> 24) as i64
}

/// As the operating system numbers them.
pub(super) fn pid(process: i64) -> i64 {
    process & 0xff_ffff
}

pub(super) fn tid(global: i64) -> i64 {
    global & 0xff_ffff
}

/// Texts that rows name by a number.
#[derive(Debug, Default)]
pub(super) struct Texts {
    arena: Vec<u8>,
    place: FxHashMap<i64, (usize, usize)>,
}

impl Texts {
    fn read(database: &mut Database<'_>) -> Result<Texts, ReadError> {
        let mut texts = Texts::default();
        database.each("StringIds", &["id", "value"], |row| {
            if let (Some(id), Some(text)) =
                (row.int(0), row.text(1).filter(|text| text.len() <= LONGEST_TEXT))
            {
                texts.place.insert(id, (texts.arena.len(), text.len()));
                texts.arena.extend_from_slice(text);
            }
        })?;
        Ok(texts)
    }

    pub(super) fn get(&self, id: i64) -> Option<&[u8]> {
        let (start, length) = *self.place.get(&id)?;
        Some(&self.arena[start..start + length])
    }
}

/// All of a report.
#[derive(Debug)]
pub(super) struct Processes {
    pub(super) texts: Texts,
    /// Of the machine, by CUDA's own numbers.
    pub(super) devices: Vec<Device>,
    all: Vec<Process>,
    place: FxHashMap<i64, usize>,
    /// Where the last row was of.
    last: (i64, usize),
    /// There is no GPU work, and everything is one rank.
    is_one: bool,
}

impl Processes {
    pub(super) fn new(database: &mut Database<'_>) -> Result<Processes, ReadError> {
        Ok(Processes {
            texts: Texts::read(database)?,
            devices: super::about::devices(database)?,
            all: Vec::new(),
            place: FxHashMap::default(),
            last: (i64::MIN, 0),
            is_one: false,
        })
    }

    /// The process of a row about GPU work; it is a rank from then on.
    pub(super) fn of_gpu(&mut self, global: Option<i64>) -> (&mut Process, &Texts, &[Device]) {
        let process = global.map_or(UNNAMED, process_of);
        if self.last.0 != process {
            let next = self.all.len();
            let place = *self.place.entry(process).or_insert(next);
            if place == next {
                self.all.push(Process::new(process));
            }
            self.last = (process, place);
        }
        (&mut self.all[self.last.1], &self.texts, &self.devices)
    }

    /// From here on rows are about the host: of processes without GPU work only if none has any.
    pub(super) fn all_are_known(&mut self) {
        if self.all.is_empty() {
            self.is_one = true;
            self.all.push(Process::new(UNNAMED));
        }
    }

    /// The rank that a row about the host belongs to.
    pub(super) fn of_host(&mut self, global: Option<i64>) -> Option<(&mut Process, &Texts)> {
        let lone = self.is_one || (self.all.len() == 1 && self.place.contains_key(&UNNAMED));
        let place = if lone { 0 } else { *self.place.get(&process_of(global?))? };
        Some((self.all.get_mut(place)?, &self.texts))
    }

    /// The rank that used a device, else the first.
    pub(super) fn using(&mut self, device: Option<i64>) -> Option<&mut Process> {
        let uses = |process: &Process| device.is_some_and(|device| process.uses.contains(&device));
        let place = self.all.iter().position(uses).unwrap_or(0);
        self.all.get_mut(place)
    }

    pub(super) fn each(&mut self) -> impl Iterator<Item = (&mut Process, &Texts)> {
        let texts = &self.texts;
        self.all.iter_mut().map(move |process| (process, texts))
    }

    /// A trace for each rank, numbered if there are several.
    pub(super) fn finish(self) -> Vec<Trace> {
        let mut all = self.all;
        all.sort_by_key(|process| process.id);
        let several = all.len() > 1;
        let number = |(rank, process): (usize, Process)| process.finish(several.then_some(rank as i64));
        all.into_iter().enumerate().map(number).collect()
    }
}

/// One process on its way to a trace.
#[derive(Debug)]
pub(super) struct Process {
    /// Machine and number.
    pub(super) id: i64,
    pub(super) builder: Builder,
    pub(super) record: Record,
    names: FxHashMap<i64, StrId>,
    /// Texts of grids and blocks.
    sizes: FxHashMap<[i64; 3], StrId>,
    tags: FxHashMap<(Phase, &'static str), TagId>,
    /// Devices that it ran work on.
    uses: Vec<i64>,
    /// The device of each context that work ran in.
    contexts: Vec<(i64, i64)>,
    /// Rows that end before they begin, or have no times.
    backwards: u64,
    untimed: u64,
}

impl Process {
    fn new(id: i64) -> Process {
        let mut builder = Builder::default();
        builder.metadata_mut().recorder = Recorder::NsightSystems;
        Process {
            id,
            builder,
            record: Record::default(),
            names: FxHashMap::default(),
            sizes: FxHashMap::default(),
            tags: FxHashMap::default(),
            uses: Vec::new(),
            contexts: Vec::new(),
            backwards: 0,
            untimed: 0,
        }
    }

    pub(super) fn tag(&mut self, phase: Phase, category: &'static str) -> TagId {
        if let Some(tag) = self.tags.get(&(phase, category)) {
            return *tag;
        }
        let name = self.builder.strings().intern(category.as_bytes());
        let tag = self.builder.tag(phase, name);
        self.tags.insert((phase, category), tag);
        tag
    }

    /// The text with a number.
    #[inline]
    pub(super) fn name(&mut self, id: i64, texts: &Texts) -> Option<StrId> {
        if let Some(name) = self.names.get(&id) {
            return Some(*name);
        }
        let name = self.builder.strings().intern(texts.get(id)?);
        self.names.insert(id, name);
        Some(name)
    }

    pub(super) fn text(&mut self, text: &[u8]) -> StrId {
        self.builder.strings().intern(text)
    }

    /// `[24, 1, 1]`
    pub(super) fn size(&mut self, size: [i64; 3]) -> StrId {
        let strings = self.builder.strings();
        *self.sizes.entry(size).or_insert_with(|| {
            let [x, y, z] = size;
            strings.intern(format!("[{x}, {y}, {z}]").as_bytes())
        })
    }

    /// Begins the record of a row that lasts; none without times, or if it ends before it begins.
    #[inline]
    pub(super) fn begin(&mut self, tag: TagId, start: Option<i64>, end: Option<i64>) -> Option<&mut Record> {
        let (Some(start), Some(end)) = (start, end) else {
            self.untimed += 1;
            return None;
        };
        if end < start {
            self.backwards += 1;
            return None;
        }
        self.record.clear();
        self.record.tag = tag;
        self.record.start = Some(Ns(start));
        self.record.dur = Some(Ns(end.saturating_sub(start)));
        Some(&mut self.record)
    }

    pub(super) fn push(&mut self) {
        self.builder.push(&self.record);
    }

    /// Pushes work of a GPU.
    pub(super) fn push_gpu(&mut self, context: Option<i64>) {
        if let Id::Int(device) = self.record.device {
            if !self.uses.contains(&device) {
                self.uses.push(device);
            }
            if let Some(context) = context
                && !self.contexts.iter().any(|(known, _)| *known == context)
            {
                self.contexts.push((context, device));
            }
        }
        self.push();
    }

    /// The device that a context is of, if work ran in it.
    pub(super) fn device_of(&self, context: i64) -> Option<i64> {
        self.contexts.iter().find(|(known, _)| *known == context).map(|(_, device)| *device)
    }

    /// Names a process or a thread.
    pub(super) fn label(&mut self, what: &str, pid: Id, tid: Id, name: &[u8]) {
        let tag = self.tag(Phase::Metadata, "");
        let (what, name) = (self.text(what.as_bytes()), self.text(name));
        self.record.clear();
        (self.record.tag, self.record.name) = (tag, what);
        (self.record.pid, self.record.tid) = (pid, tid);
        self.record.set_text(Arg::LabelName, name);
        self.builder.push(&self.record);
    }

    fn finish(mut self, rank: Option<i64>) -> Trace {
        let mut remark = |code, count: u64, what: &str| {
            if count > 0 {
                self.builder.report(Quality::new(code, count, format!("{count} {what}")));
            }
        };
        remark(Code::NegativeDuration, self.backwards, "rows end before they begin; they are left out");
        remark(Code::MalformedEvents, self.untimed, "rows without a start or an end are left out");
        if let Some(rank) = rank {
            let distributed = Distributed { rank: Some(rank), ..Distributed::default() };
            self.builder.metadata_mut().distributed = Some(distributed);
        }
        let mut trace = self.builder.finish();
        trace.is_part = rank.is_some();
        trace
    }
}
