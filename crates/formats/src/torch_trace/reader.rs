//! Takes a log in line by line.

use gpuscope_trace::compile_log::{Cache, CompileId, CompileLog, GraphKind, Lookup, Piece, Place};
use gpuscope_trace::{Code, Quality};
use rustc_hash::FxHashMap;
use serde_json::Value;

use super::envelope::{Envelope, Frame, Start, metrics};
use super::line::{Line, line};
use super::process::Process;
use super::{break_reason, event, graph, output_code};
use crate::ReadError;

/// More than any payload needs that is looked into: what comes after is left out.
const LARGEST_PAYLOAD: usize = 256 << 20;

/// What a payload will be, once it is whole.
#[derive(Clone, Copy, Debug)]
enum Awaited {
    Graph(GraphKind),
    Code,
    Break,
    RecompileReasons,
    Event,
    TorchVersion,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    awaited: Awaited,
    rank: Option<u32>,
    id: Option<CompileId>,
    place: Option<u32>,
}

#[derive(Debug, Default)]
pub(super) struct Reader {
    processes: FxHashMap<Option<u32>, Process>,
    /// The rank that a writer's records have named.
    rank_of: FxHashMap<u64, u32>,
    /// Texts by number, of each writer; those of any, for threads that did not write them.
    texts: FxHashMap<u64, FxHashMap<i64, String>>,
    any_texts: FxHashMap<i64, String>,
    pending: Option<Pending>,
    payload: Vec<u8>,
    records: u64,
    /// Records that are no JSON, or whose payload is not what it should be.
    damaged: u64,
    /// Lines that belong to no record.
    other: u64,
    /// The last line has no end, and what it says is not whole.
    is_cut: bool,
}

impl Reader {
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// What is kept of the text, at about.
    pub(super) fn text_bytes(&self) -> u64 {
        let texts = self.texts.values().flat_map(FxHashMap::values).chain(self.any_texts.values());
        (self.payload.capacity() + texts.map(String::len).sum::<usize>()) as u64
    }

    /// Takes in a line; `is_whole` says that its end was seen.
    pub(super) fn line(&mut self, text: &[u8], is_whole: bool) {
        match line(text) {
            Line::Record { writer, rank, json } => {
                self.end_payload();
                match serde_json::from_slice::<Envelope>(json) {
                    Ok(envelope) => self.record(writer, rank, envelope),
                    Err(_) if is_whole => self.damaged += 1,
                    Err(_) => self.is_cut = true,
                }
            }
            Line::Payload(text) => {
                if self.pending.is_some() && self.payload.len() + text.len() < LARGEST_PAYLOAD {
                    self.payload.extend_from_slice(text);
                    self.payload.push(b'\n');
                }
                self.is_cut = !is_whole;
            }
            Line::Other if text.trim_ascii().is_empty() => {}
            Line::Other if !is_whole && self.records > 0 => self.is_cut = true,
            Line::Other => {
                self.end_payload();
                self.other += 1;
            }
        }
    }

    fn record(&mut self, writer: u64, rank: Option<u32>, mut envelope: Envelope) {
        self.records += 1;
        if let Some((text, number)) = envelope.str.take() {
            self.any_texts.insert(number, text.clone());
            self.texts.entry(writer).or_default().insert(number, text);
        }
        let named = envelope.rank.or(rank);
        if let Some(rank) = named {
            self.rank_of.insert(writer, rank);
        }
        let rank = named.or_else(|| self.rank_of.get(&writer).copied());
        let id = envelope.id();
        let stack = envelope.dynamo_start.take().map(|Start { stack }| self.stack(writer, stack));
        let process = self.processes.entry(rank).or_default();
        process.log.records += 1;
        // Events say themselves what they are about.
        let place = id.filter(|_| envelope.chromium_event.is_none()).map(|id| {
            let begins = stack.is_some() && envelope.attempt.unwrap_or(0) == 0;
            if begins { process.begins(id) } else { process.compilation(id) }
        });
        if let Some(place) = place {
            let compilation = process.get(place);
            let attempt = envelope.attempt.unwrap_or(0);
            compilation.attempts = compilation.attempts.max(attempt.saturating_add(1));
            if let Some(stack) = stack {
                if compilation.code == Place::default() {
                    compilation.code = stack.last().cloned().unwrap_or_default();
                }
                compilation.stack = stack;
            }
            if let Some(members) = &envelope.compilation_metrics {
                compilation.ended = true;
                compilation.metrics = metrics(members);
                let text = |key: &str| members.get(key).and_then(Value::as_str).map(str::to_owned);
                let code = &mut compilation.code;
                code.function = text("co_name").or_else(|| code.function.take());
                code.file = text("co_filename").or_else(|| code.file.take());
                code.line = members.get("co_firstlineno").and_then(Value::as_i64).or(code.line);
                if compilation.recompile_reasons.is_empty() {
                    compilation.recompile_reasons.extend(text("recompile_reason"));
                }
            }
            let artifact = envelope.artifact.as_ref().map(|artifact| artifact.name.as_str());
            compilation.caches.extend(artifact.and_then(lookup));
        }
        self.pending = awaited(&envelope).map(|awaited| Pending { awaited, rank, id, place });
        if self.pending.is_some() && envelope.has_payload.is_none() {
            self.pending = None;
        }
    }

    fn stack(&self, writer: u64, frames: Vec<Frame>) -> Vec<Place> {
        let own = self.texts.get(&writer);
        let text =
            |number: i64| own.and_then(|texts| texts.get(&number)).or_else(|| self.any_texts.get(&number));
        let place = |frame: Frame| Place {
            file: frame.filename.and_then(text).cloned(),
            line: frame.line,
            function: frame.name,
        };
        frames.into_iter().map(place).collect()
    }

    /// Looks into the payload of the record before, now that it is whole.
    fn end_payload(&mut self) {
        self.is_cut = false;
        let Some(Pending { awaited, rank, id, place }) = self.pending.take() else { return };
        let payload = std::mem::take(&mut self.payload);
        let text = String::from_utf8_lossy(&payload);
        let process = self.processes.entry(rank).or_default();
        let mut is_damaged = text.is_empty();
        match (awaited, place) {
            _ if is_damaged => {}
            (Awaited::Event, _) => match event::timed(&text) {
                Some(timed) => process.mark(&timed, id),
                None => is_damaged = true,
            },
            (Awaited::TorchVersion, _) => {
                let json = serde_json::from_str::<Value>(&text).unwrap_or_default();
                process.log.torch_version = json["pytorch_version"].as_str().map(str::to_owned);
            }
            (Awaited::Graph(kind), Some(place)) => {
                process.get(place).pieces.push(Piece::Graph { kind, calls: graph::calls(&text) });
            }
            (Awaited::Code, Some(place)) => process.get(place).pieces.push(output_code::output_code(&text)),
            (Awaited::Break, Some(place)) => {
                process.get(place).breaks.push(break_reason::graph_break(&text));
            }
            (Awaited::RecompileReasons, Some(place)) => {
                process.get(place).recompile_reasons = reasons(&text);
            }
            // What belongs to no compilation answers no question about one.
            (_, None) => {}
        }
        self.damaged += u64::from(is_damaged);
        // The next payload is written to the same place.
        self.payload = payload;
        self.payload.clear();
    }

    /// What was read, when all lines were; `broken` says why the text itself broke off, if it did.
    pub(super) fn finish(mut self, broken: Option<String>) -> Result<Vec<CompileLog>, ReadError> {
        let broken = broken.or_else(|| self.is_cut.then(|| "the last line has no end".to_owned()));
        let damaged = self.damaged;
        self.end_payload();
        if broken.is_some() {
            // What broke off on the way is said once.
            self.damaged = damaged;
        }
        if self.records == 0 {
            return Err(ReadError::NotALog);
        }
        let mut logs = self.by_rank();
        let quality = self.quality(broken.as_deref());
        if let Some(first) = logs.first_mut() {
            first.quality = quality;
        }
        Ok(logs)
    }

    /// Before a process knows its rank its records name none: they are of the only one that does.
    fn by_rank(&mut self) -> Vec<CompileLog> {
        if self.processes.len() == 2
            && let Some(nameless) = self.processes.remove(&None)
            && let Some((_, process)) = self.processes.iter_mut().next()
        {
            let later = std::mem::replace(process, nameless);
            process.absorb(later);
        }
        let log = |(rank, process): (Option<u32>, Process)| CompileLog { rank, ..process.log };
        let mut logs: Vec<CompileLog> = self.processes.drain().map(log).collect();
        logs.sort_by_key(|log| log.rank);
        logs
    }

    fn quality(&self, broken: Option<&str>) -> Vec<Quality> {
        let mut quality = Vec::new();
        if let Some(broken) = broken {
            let message = format!("the log breaks off ({broken}); {} whole records were read", self.records);
            quality.push(Quality::new(Code::Truncated, 1, message));
        }
        if self.damaged > 0 {
            let message = format!(
                "{} of {} records were passed over: expected a JSON object and, where it announces one, a payload",
                self.damaged,
                self.records + self.damaged
            );
            quality.push(Quality::new(Code::MalformedEvents, self.damaged, message));
        }
        if self.other > 0 {
            let message = format!("{} lines belong to no record of the log and were passed over", self.other);
            quality.push(Quality::new(Code::UnknownEvents, self.other, message));
        }
        quality
    }
}

fn awaited(envelope: &Envelope) -> Option<Awaited> {
    if envelope.chromium_event.is_some() {
        return Some(Awaited::Event);
    }
    if let Some(kind) = envelope.graph() {
        return Some(Awaited::Graph(kind));
    }
    if envelope.inductor_output_code.is_some() {
        return Some(Awaited::Code);
    }
    match envelope.artifact.as_ref()?.name.as_str() {
        "dynamo_graph_break_reason" => Some(Awaited::Break),
        "recompile_reasons" => Some(Awaited::RecompileReasons),
        "torch_version" => Some(Awaited::TorchVersion),
        _ => None,
    }
}

/// `fx_graph_cache_hit`, `aotautograd_cache_bypass`, …
fn lookup(artifact: &str) -> Option<(Cache, Lookup)> {
    let (cache, lookup) = artifact.rsplit_once("_cache_")?;
    let cache = match cache {
        "fx_graph" => Cache::FxGraph,
        "aotautograd" => Cache::Autograd,
        _ => return None,
    };
    let lookup = match lookup {
        "hit" => Lookup::Hit,
        "miss" => Lookup::Miss,
        "bypass" => Lookup::Bypass,
        _ => return None,
    };
    Some((cache, lookup))
}

/// A list of texts, or one text as it is.
fn reasons(text: &str) -> Vec<String> {
    serde_json::from_str(text).unwrap_or_else(|_| vec![text.trim_end().to_owned()])
}
