//! One run: the inputs as the user gave them, and the answer to a question put to all of their ranks.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use gpuscope_analysis::inference::GraphCapture;
use gpuscope_analysis::{Question, quality};
use gpuscope_formats::Loaded;
use gpuscope_trace::{
    Code, Criteria, Holds, Index, KindRules, Quality, Selection, Severity, StepMarker, Trace, View,
};
use serde::Serialize;

use crate::budget;
use crate::captures::{self, Capture, Clue};
use crate::error::Error;
use crate::graph_captures::speaks_of_capture;
use crate::inputs;
use crate::kept::{Kept, Part, Prepared};
use crate::load::{self, Progress, Reading};
use crate::ranks;
use crate::source::{self, Source};
use crate::unselected;

/// How to find, read and select.
#[derive(Default)]
pub struct JobOptions {
    /// Only files of this rank.
    pub rank: Option<u32>,
    /// How names tell the rank; the first group is the number.
    pub rank_regex: Option<String>,
    /// Which of several captures: its number (1 is the newest) or its folder.
    pub select_capture: Option<String>,
    /// Bytes that traces may take in memory together; half of the machine's by default.
    pub memory: Option<u64>,
    /// Files read at once; `GPUSCOPE_THREADS` or one per core by default.
    pub threads: Option<usize>,
    pub criteria: Criteria,
    pub rules: KindRules,
    /// What begins a step, in place of the recorded ones.
    pub step_marker: Option<StepMarker>,
    /// Ranks without GPU work are answered for even beside others that have some.
    pub keep_host_only: bool,
    /// Traces of the capture of graphs are answered for even beside others.
    pub keep_graph_captures: bool,
    pub progress: Option<Box<dyn Progress>>,
    /// Set when the answer is no longer wanted: reading ends with [`Error::Stopped`].
    pub stop: Option<Arc<AtomicBool>>,
}

impl std::fmt::Debug for JobOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobOptions").field("criteria", &self.criteria).finish_non_exhaustive()
    }
}

/// What is known of one input that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputInfo {
    pub path: String,
    pub format: &'static str,
    pub rank: u32,
    /// Elements of the trace's event array.
    pub events: u64,
    /// Size as stored, before decompression.
    pub bytes: u64,
    pub world_size: Option<i64>,
    pub container: &'static str,
}

/// An answer with what it rests on.
#[derive(Clone, Debug)]
pub struct Outcome<A> {
    pub inputs: Vec<InputInfo>,
    pub quality: Vec<Quality>,
    pub answer: A,
}

impl<A> Outcome<A> {
    /// Part of the answer, resting on the same.
    pub fn map<B>(self, part: impl FnOnce(A) -> B) -> Outcome<B> {
        Outcome { inputs: self.inputs, quality: self.quality, answer: part(self.answer) }
    }
}

#[derive(Debug)]
pub struct Run {
    pub(crate) sources: Arc<[Source]>,
    /// What was named but gave nothing to read.
    failures: Vec<Arc<Error>>,
    /// The rank that names tell, by source.
    pub(crate) named: Vec<Option<u32>>,
    /// The place of each among those that hold the same: its rank, if nothing else tells.
    places: Vec<u32>,
    options: JobOptions,
    kept: Option<Arc<Kept>>,
}

/// What one rank contributes, whatever the question. What stands between the two ends of a question is compiled once, and
/// not again for each of them.
type Local = Box<dyn Any + Send>;

/// The rank's end of a question.
type Contribute<'q> = &'q (dyn Fn(u32, View<'_>) -> Local + Sync);

/// What one trace leaves behind.
struct Rank {
    info: InputInfo,
    clue: Clue,
    quality: Vec<Quality>,
    has_gpu_work: bool,
    /// It is what tells of its rank, and no memory timeline or the like beside that.
    is_whole: bool,
    /// It records how graphs were captured, not what they do.
    is_graph_capture: bool,
    /// The numbers of its steps, if some of them are wanted.
    steps: BTreeSet<i64>,
    /// None if the rank is not asked.
    local: Option<Local>,
}

impl Run {
    pub fn open(arguments: &[String], options: JobOptions) -> Result<Run, Error> {
        Run::open_with(arguments, options, &mut io::stdin().lock())
    }

    /// As [`Run::open`], with something else for standard input.
    pub fn open_with(arguments: &[String], options: JobOptions, stdin: &mut dyn Read) -> Result<Run, Error> {
        let own = options.rank_regex.as_deref().map(ranks::compile).transpose()?;
        let inputs::Found { sources, failures } = inputs::find(arguments, stdin);
        let failures: Vec<Arc<Error>> = failures.into_iter().map(Arc::new).collect();
        if sources.is_empty() {
            return Err(Error::NoneReadable(failures));
        }
        let paths: Vec<&str> = sources.iter().map(|source| source.path.as_str()).collect();
        let named = ranks::from_names(&paths, own.as_ref());
        let mut counts: Vec<(Holds, u32)> = Vec::new();
        let place = |source: &Source| {
            let holds = source.holds();
            let known = counts.iter().position(|(other, _)| *other == holds);
            let known = known.unwrap_or_else(|| {
                counts.push((holds, 0));
                counts.len() - 1
            });
            counts[known].1 += 1;
            counts[known].1 - 1
        };
        let places = sources.iter().map(place).collect();
        Ok(Run { sources: sources.into(), failures, named, places, options, kept: None })
    }

    /// For several questions: what is read stays in memory, up to what traces may take there at once.
    #[must_use]
    pub fn keeping(mut self) -> Run {
        self.kept = Some(Arc::new(Kept::new(self.options.memory.unwrap_or_else(budget::default_limit))));
        self
    }

    /// The same traces for another question: how they are read, what kernels are and what begins a step stays; what
    /// is selected and who watches is as `options` say.
    #[must_use]
    pub fn sharing(&self, options: JobOptions) -> Run {
        let own = &self.options;
        let options = JobOptions {
            rank_regex: own.rank_regex.clone(),
            select_capture: options.select_capture.or_else(|| own.select_capture.clone()),
            memory: own.memory,
            threads: own.threads,
            rules: own.rules.clone(),
            step_marker: own.step_marker.clone(),
            ..options
        };
        Run {
            sources: Arc::clone(&self.sources),
            failures: self.failures.clone(),
            named: self.named.clone(),
            places: self.places.clone(),
            options,
            kept: self.kept.clone(),
        }
    }

    /// What a run that is [`Run::keeping`] has in memory.
    pub fn kept_bytes(&self) -> u64 {
        self.kept.as_ref().map_or(0, |kept| kept.bytes())
    }

    /// Whether any of its files holds this.
    pub fn holds(&self, what: Holds) -> bool {
        self.sources.iter().any(|source| source.holds() == what)
    }

    /// How many inputs there are: about as many as ranks.
    pub fn inputs(&self) -> usize {
        self.sources.len()
    }

    /// The files that are read, archives for what is in them: not to be written over.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        source::files(&self.sources)
    }

    /// Puts a question to every rank and merges the answers.
    pub fn ask<Q: Question>(&self, question: &Q) -> Result<Outcome<Q::Answer>, Error> {
        let locals = self.each_of(question.reads(), |rank, view| question.local(rank, view))?;
        let mut outcome = locals.map(|locals| question.merge(locals));
        // First what is about the question.
        outcome.quality.splice(0..0, question.quality(&outcome.answer));
        outcome.quality.sort_by_key(|note| std::cmp::Reverse(note.severity));
        Ok(outcome)
    }

    /// Looks at every rank by itself. With `keep_host_only` there is one part for each of `inputs`.
    pub fn each<L: Send + 'static>(
        &self,
        local: impl Fn(u32, View<'_>) -> L + Sync,
    ) -> Result<Outcome<Vec<L>>, Error> {
        self.each_of(&[Holds::Events], local)
    }

    /// The same for files that hold one of these.
    fn each_of<L: Send + 'static>(
        &self,
        reads: &'static [Holds],
        local: impl Fn(u32, View<'_>) -> L + Sync,
    ) -> Result<Outcome<Vec<L>>, Error> {
        let found = self.contributed(reads, &|rank, view| Box::new(local(rank, view)))?;
        let own = |part: Local| *part.downcast().expect("it was made above");
        Ok(found.map(|parts| parts.into_iter().map(own).collect()))
    }

    /// What every rank contributes, in order of the ranks.
    fn contributed(
        &self,
        reads: &'static [Holds],
        contribute: Contribute<'_>,
    ) -> Result<Outcome<Vec<Local>>, Error> {
        let options = &self.options;
        let fitting = self.fitting(reads)?;
        let chosen = self.capture_unread(&fitting)?;
        let candidates = chosen.as_ref().map_or(&fitting, |(sources, _)| sources);
        let (wanted, peeked) = self.sources_of_rank(candidates)?;
        let (found, failures) = self.read(&wanted, |i, read| self.ranks(i, read, contribute))?;
        let mut notes: Vec<Quality> = unreadable(&failures).collect();
        notes.extend(self.others(&fitting, reads));
        let found = if options.keep_graph_captures || options.select_capture.is_some() {
            found
        } else {
            without_graph_captures(found, &mut notes)
        };
        let found = match chosen {
            Some((_, note)) => {
                notes.push(note);
                found
            }
            None => select_capture(found, options.select_capture.as_deref(), &mut notes)?,
        };
        notes.extend(across_ranks(&found, peeked));
        let found = select_rank(found, options.rank)?;
        if let Some(wanted) = options.criteria.steps {
            unselected::has_a_step(wanted, found.iter().map(|rank| &rank.steps))?;
        }
        Ok(outcome(found, notes, options.keep_host_only))
    }

    /// Reads what is not in memory yet and ties GPU work to its launches, for questions to come: a run that is
    /// [`Run::keeping`] has it then.
    pub fn load(&self) -> Result<(), Error> {
        let fitting = self.fitting(Holds::ALL)?;
        let (wanted, _) = self.sources_of_rank(&fitting)?;
        let tie = |part: &Part| {
            part.index.gpu(&part.trace);
            part.index.launches(&part.trace);
        };
        self.read(&wanted, |_, read| read.parts.iter().map(tie).collect())?;
        Ok(())
    }

    /// What was found in the wanted sources, and what could not be read. One that can be read is enough.
    fn read<T: Send>(
        &self,
        wanted: &[usize],
        take: impl Fn(usize, Arc<Prepared>) -> Vec<T> + Sync,
    ) -> Result<(Vec<T>, Vec<Arc<Error>>), Error> {
        let options = &self.options;
        let reading = Reading {
            threads: options.threads.unwrap_or_else(default_threads),
            memory: options.memory.unwrap_or_else(budget::default_limit),
            progress: options.progress.as_deref(),
            stop: options.stop.as_deref(),
            kept: self.kept.as_deref(),
        };
        let sources: Vec<(usize, &Source)> = wanted.iter().map(|i| (*i, &self.sources[*i])).collect();
        let results = load::all(&sources, &reading, |loaded| self.prepared(loaded), take);
        let mut found = Vec::new();
        let mut failures = self.failures.clone();
        for ((_, source), result) in sources.into_iter().zip(results) {
            match result {
                Ok(parts) => found.extend(parts),
                Err(Error::Stopped) => return Err(Error::Stopped),
                // A file of another kind that lies beside the traces and does not claim to be one.
                Err(Error::NotATrace { .. } | Error::NotRead { .. })
                    if source.discovered && !source.looks_like_trace() => {}
                Err(error) => failures.push(Arc::new(error)),
            }
        }
        match (found.is_empty(), failures.is_empty()) {
            (true, true) => Err(inputs::no_traces(self.sources[0].folder(), self.sources.len())),
            (true, false) => Err(Error::NoneReadable(failures)),
            (false, _) => Ok((found, failures)),
        }
    }

    /// The sources to read, and all ranks that are there if known without reading. For one rank of many, files
    /// that say at their beginning that they are of another are passed over; only where every file does, and no
    /// rank occurs twice, as captures can be told apart only by what is in them.
    fn sources_of_rank(&self, fitting: &[usize]) -> Result<(Vec<usize>, BTreeSet<u32>), Error> {
        let all = || Ok((fitting.to_vec(), BTreeSet::new()));
        let Some(wanted) = self.options.rank.filter(|_| fitting.len() > 1) else { return all() };
        let said = fitting.iter().map(|i| self.sources[*i].head.rank);
        let Some(ranks) = said.collect::<Option<Vec<u32>>>() else { return all() };
        let distinct: BTreeSet<u32> = ranks.iter().copied().collect();
        if distinct.len() < ranks.len() {
            return all();
        }
        match ranks.iter().position(|rank| *rank == wanted) {
            Some(i) => Ok((vec![fitting[i]], distinct)),
            None => Err(Error::NoSuchRank { wanted, present: listed(&distinct) }),
        }
    }

    /// The sources that hold what a question is about.
    fn fitting(&self, reads: &'static [Holds]) -> Result<Vec<usize>, Error> {
        let fits = |i: &usize| reads.contains(&self.sources[*i].holds());
        let fitting: Vec<usize> = (0..self.sources.len()).filter(fits).collect();
        match self.sources.iter().find_map(|source| Some((source, source.head.format?))) {
            Some((source, format)) if fitting.is_empty() => {
                let (path, title) = (source.path.clone(), format.title);
                Err(Error::OtherContents { path, title, holds: source.holds(), reads })
            }
            _ => Ok(fitting),
        }
    }

    /// The sources of the wanted one of several captures, where names and beginnings tell which are of it: twenty captures
    /// then cost what one does.
    fn capture_unread(&self, fitting: &[usize]) -> Result<Option<(Vec<usize>, Quality)>, Error> {
        let clue = |i: &usize| {
            let source = &self.sources[*i];
            let rank = source.head.rank.or(self.named[*i])?;
            // Recordings of the capture of graphs lie beside others, and are known by what is in them.
            let is_plain = source.holds() == Holds::Events && !speaks_of_capture(Path::new(&source.path));
            is_plain.then(|| Clue {
                rank,
                path: source.path.clone(),
                folder: source.folder().to_owned(),
                stamp: captures::stamp(source.base_name()),
                span: source.head.moment.map(|moment| (moment, moment)),
                discovered: source.discovered,
                ..Clue::default()
            })
        };
        let Some(clues) = fitting.iter().map(clue).collect::<Option<Vec<Clue>>>() else { return Ok(None) };
        let Some(captures) = captures::split_unread(&clues) else { return Ok(None) };
        let picked = captures::pick(&captures, &clues, self.options.select_capture.as_deref())?;
        let is_in = |place: &usize| !clues[*place].discovered || captures[picked].members.contains(place);
        let sources = (0..clues.len()).filter(is_in).map(|place| fitting[place]).collect();
        Ok(Some((sources, other_captures(&captures, picked))))
    }

    /// Files that were named and hold something else.
    fn others(&self, fitting: &[usize], reads: &'static [Holds]) -> impl Iterator<Item = Quality> {
        let left_out =
            self.sources.iter().enumerate().filter(|(i, source)| !source.discovered && !fitting.contains(i));
        left_out.filter_map(move |(_, source)| {
            let title = source.head.format?.title;
            let (path, holds) = (source.path.clone(), source.holds());
            let other = Error::OtherContents { path, title, holds, reads };
            let message = format!("{other}; {}", other.hint().unwrap_or_default());
            Some(Quality::new(Code::OtherContents, 1, message))
        })
    }

    /// The ranks of one file: nearly always one.
    fn prepared(&self, loaded: Loaded) -> Prepared {
        let Loaded { traces, format, .. } = loaded;
        let part = |trace: Trace| {
            let index = Index::new(self.options.rules.clone());
            Part {
                trace,
                index: index.with_step_marker(self.options.step_marker.clone()),
                quality: OnceLock::new(),
            }
        };
        Prepared { format, parts: traces.into_iter().map(part).collect() }
    }

    /// What the ranks of one file contribute. What nobody else keeps is dropped part by part.
    fn ranks(&self, i: usize, read: Arc<Prepared>, contribute: Contribute<'_>) -> Vec<Rank> {
        let format = read.format;
        match Arc::try_unwrap(read) {
            Ok(own) => own.parts.into_iter().map(|part| self.rank(i, &part, format, contribute)).collect(),
            Err(kept) => kept.parts.iter().map(|part| self.rank(i, part, format, contribute)).collect(),
        }
    }

    /// What one rank contributes.
    fn rank(&self, i: usize, part: &Part, format: &'static str, contribute: Contribute<'_>) -> Rank {
        let Part { trace, index, .. } = part;
        let source = &self.sources[i];
        let distributed = trace.metadata.distributed.as_ref();
        let own = distributed.and_then(|distributed| u32::try_from(distributed.rank?).ok());
        let rank = own.or(self.named[i]).unwrap_or(self.places[i]);
        let info = InputInfo {
            path: source.path.clone(),
            format,
            rank,
            events: trace.elements,
            bytes: source.bytes,
            world_size: distributed.and_then(|distributed| distributed.world_size),
            container: source.container,
        };
        let clue = clue(source, rank, trace, index);
        let has_gpu_work = !index.gpu(trace).is_empty();
        let everything = Selection::everything();
        let whole = View { trace, index, selection: &everything };
        let is_graph_capture = source.discovered && GraphCapture::of(whole).is_some();
        let numbers = || index.steps(trace).iter().map(|step| step.number).collect();
        let steps = self.options.criteria.steps.map(|_| numbers()).unwrap_or_default();
        let wanted = self.options.rank.is_none_or(|wanted| wanted == rank);
        let mut notes = trace.quality.clone();
        let local = wanted.then(|| {
            let is_events = trace.holds() == Holds::Events;
            let faults = || if is_events { quality(rank, whole) } else { Vec::new() };
            notes.extend_from_slice(part.quality.get_or_init(faults));
            let selection = Selection::new(trace, index, &self.options.criteria);
            let view = View { trace, index, selection: &selection };
            notes.extend(unselected::note(view, &self.options.criteria));
            if self.options.step_marker.is_some() {
                notes.extend(unselected::unmarked(view));
            }
            contribute(rank, view)
        });
        for note in &mut notes {
            note.rank = Some(rank);
        }
        let is_whole = matches!(trace.holds(), Holds::Events | Holds::CompileLog);
        Rank { info, clue, quality: notes, has_gpu_work, is_whole, is_graph_capture, steps, local }
    }
}

fn default_threads() -> usize {
    let asked = std::env::var("GPUSCOPE_THREADS").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

fn clue(source: &Source, rank: u32, trace: &Trace, index: &Index) -> Clue {
    let mut clue = Clue {
        rank,
        path: source.path.clone(),
        folder: source.folder().to_owned(),
        stamp: captures::stamp(source.base_name()),
        // Of what is no recording of events there is nothing to choose from.
        discovered: source.discovered && trace.holds() == Holds::Events,
        ..Clue::default()
    };
    // Only a set that was discovered can hold several captures; for the rest the walk over all rows is spared.
    if clue.discovered {
        let base = trace.metadata.base_time_ns.unwrap_or(0);
        clue.span =
            trace.extent().map(|(start, end)| (start.0.saturating_add(base), end.0.saturating_add(base)));
        clue.first_step = index.recorded_steps(trace).first().map(|step| step.number);
    }
    clue
}

/// Sets traces of the capture of graphs apart, where they were found beside others.
fn without_graph_captures(mut found: Vec<Rank>, notes: &mut Vec<Quality>) -> Vec<Rank> {
    if found.iter().all(|rank| rank.is_graph_capture) {
        return found;
    }
    let captures = found.iter().filter(|rank| rank.is_graph_capture);
    notes.extend(captures.map(|rank| {
        let message = format!(
            "{} records how graphs were captured, not a run: it is no rank, and tells the operators of what is replayed",
            rank.info.path
        );
        Quality::new(Code::GraphCapture, 1, message)
    }));
    found.retain(|rank| !rank.is_graph_capture);
    found
}

/// Keeps one capture, and says which others there are.
fn select_capture(
    found: Vec<Rank>,
    wanted: Option<&str>,
    notes: &mut Vec<Quality>,
) -> Result<Vec<Rank>, Error> {
    let clues: Vec<Clue> = found.iter().map(|rank| rank.clue.clone()).collect();
    let captures = captures::split(&clues);
    let picked = captures::pick(&captures, &clues, wanted)?;
    if captures.len() < 2 {
        return Ok(found);
    }
    notes.push(other_captures(&captures, picked));
    let left_out: BTreeSet<usize> = captures
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != picked)
        .flat_map(|(_, capture)| capture.members.iter().copied())
        .collect();
    let kept = found.into_iter().enumerate().filter(|(i, _)| !left_out.contains(i));
    Ok(kept.map(|(_, rank)| rank).collect())
}

fn other_captures(captures: &[Capture], picked: usize) -> Quality {
    let others = captures.len() - 1;
    let message = format!(
        "{} captures are here; this is number {} ({}). --select-capture picks another: {}",
        captures.len(),
        picked + 1,
        captures[picked].name,
        captures::list(captures),
    );
    Quality::new(Code::OtherCaptures, others as u64, message)
}

/// What only shows when the ranks are seen side by side; `present` are ranks that are there but were not read.
fn across_ranks(found: &[Rank], mut present: BTreeSet<u32>) -> Vec<Quality> {
    // A memory timeline lies beside the trace of its rank.
    let traces = || found.iter().filter(|rank| rank.is_whole).map(|rank| &rank.info);
    let mut notes = same_ranks("inputs", traces());
    let world =
        found.iter().filter_map(|rank| rank.info.world_size).max().and_then(|n| u64::try_from(n).ok());
    present.extend(traces().map(|info| info.rank));
    let present = present.len() as u64;
    if let Some(world) = world
        && world > present
    {
        let message = format!("{present} of {world} ranks are here; what the others did is not known");
        notes.push(Quality::new(Code::MissingRanks, world - present, message));
    }
    notes
}

/// Of several inputs with one rank each is answered, and said so.
pub(crate) fn same_ranks<'i>(what: &str, inputs: impl Iterator<Item = &'i InputInfo>) -> Vec<Quality> {
    let mut paths: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for input in inputs {
        paths.entry(input.rank).or_default().push(&input.path);
    }
    let note = |(rank, paths): (u32, Vec<&str>)| {
        let message =
            format!("{} {what} are of rank {rank}, each is answered: {}", paths.len(), paths.join(", "));
        Quality::new(Code::DuplicateRank, paths.len() as u64, message).of_rank(rank)
    };
    paths.into_iter().filter(|(_, paths)| paths.len() > 1).map(note).collect()
}

/// Inputs that could not be read, beside those that could.
pub(crate) fn unreadable(failures: &[Arc<Error>]) -> impl Iterator<Item = Quality> {
    failures.iter().map(|error| Quality::new(Code::UnreadableInput, 1, error.to_string()))
}

fn select_rank(found: Vec<Rank>, wanted: Option<u32>) -> Result<Vec<Rank>, Error> {
    let Some(wanted) = wanted else { return Ok(found) };
    let present: BTreeSet<u32> = found.iter().map(|rank| rank.info.rank).collect();
    if !present.contains(&wanted) {
        return Err(Error::NoSuchRank { wanted, present: listed(&present) });
    }
    Ok(found.into_iter().filter(|rank| rank.info.rank == wanted).collect())
}

/// `is rank 3`, `are ranks 0-3, 7`
fn listed(ranks: &BTreeSet<u32>) -> String {
    let spans = unselected::spans(ranks.iter().map(|rank| i64::from(*rank)), "-");
    format!("{} {spans}", if ranks.len() == 1 { "is rank" } else { "are ranks" })
}

fn outcome(found: Vec<Rank>, mut notes: Vec<Quality>, keep_host_only: bool) -> Outcome<Vec<Local>> {
    let any_gpu_work = found.iter().any(|rank| rank.has_gpu_work);
    let inputs = found.iter().map(|rank| rank.info.clone()).collect();
    let mut locals = Vec::new();
    for rank in found {
        // Pages of measurements and the like are no ranks.
        let host_only = any_gpu_work && !rank.has_gpu_work && rank.is_whole;
        notes.extend(rank.quality.into_iter().filter(|note| !(host_only && note.code == Code::NoGpuEvents)));
        if host_only {
            let message =
                format!("{} has no GPU work, unlike the others: it is no idle rank", rank.info.path);
            notes.push(Quality::new(Code::HostOnly, 1, message).of_rank(rank.info.rank));
        }
        if !host_only || keep_host_only {
            locals.extend(rank.local.map(|local| (rank.info.rank, local)));
        }
    }
    // Stable: inputs of one rank stay in the order given.
    locals.sort_by_key(|(rank, _)| *rank);
    let locals = locals.into_iter().map(|(_, local)| local).collect();
    notes.sort_by_key(|note| std::cmp::Reverse(note.severity));
    Outcome { inputs, quality: notes, answer: locals }
}

/// The most severe entry of a run.
pub fn worst(quality: &[Quality]) -> Option<Severity> {
    quality.iter().map(|note| note.severity).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_listed_in_spans() {
        assert_eq!(listed(&BTreeSet::from([0, 1, 2, 7])), "are ranks 0-2, 7");
        assert_eq!(listed(&BTreeSet::from([3])), "is rank 3");
    }
}
