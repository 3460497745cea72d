//! The door for servers: runs that stay open as far as there is room, asked by the catalogue's words.

use std::collections::VecDeque;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use gpuscope_analysis::dossier::{Dossier, DossierAnswer, KeyNumber};
use gpuscope_analysis::timeline::Atlas;
use gpuscope_analysis::{Counters, Kernels, Memory, Timeline};
use gpuscope_formats::{Compression, FORMATS, Head};
use gpuscope_job::{InputInfo, JobOptions, Outcome, Progress, Run};
use gpuscope_report::key_number;
use gpuscope_server::asker::{
    Asked, Asker, Form, Found, Measured, Overview, Problem, ProblemKind, Scale, Source, Watch,
};
use gpuscope_server::catalog::{Question, quoted};
use gpuscope_table::{Column, Table, Unit, Values};
use gpuscope_trace::{Code, Holds, Ns, Quality, Severity};
use serde_json::json;

use crate::catalog;
use crate::exit::Exit;
use crate::session::{self, Asking, OpenRun, Reach, Refusal, Wanted};

/// Runs are kept open for the questions that follow, up to this many bytes of traces.
#[derive(Debug)]
pub(crate) struct Door {
    questions: Vec<Question>,
    open: Mutex<VecDeque<Kept>>,
    room: u64,
}

#[derive(Debug)]
struct Kept {
    name: String,
    version: String,
    run: Arc<OpenRun>,
}

impl Door {
    pub(crate) fn new(room: u64) -> Door {
        Door { questions: catalog::questions(), open: Mutex::default(), room }
    }

    /// The run, opened if it is not, and what was not asked for longest closed if there is no room.
    fn run(&self, source: &Source) -> Result<Arc<OpenRun>, Problem> {
        let is_it = |kept: &Kept| kept.name == source.name && kept.version == source.version;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let known = open.iter().position(is_it).and_then(|place| open.remove(place));
        let kept = if let Some(known) = known {
            known
        } else {
            let run = OpenRun::open(&source.paths, &[]).map_err(problem)?.renamed(&source.name);
            // An older version of it is no longer of use.
            open.retain(|kept| kept.name != source.name);
            Kept { name: source.name.clone(), version: source.version.clone(), run: Arc::new(run) }
        };
        let run = Arc::clone(&kept.run);
        open.push_back(kept);
        let mut bytes: u64 = open.iter().map(|kept| kept.run.bytes()).sum();
        while bytes > self.room && open.len() > 1 {
            bytes -= open.pop_front().map_or(0, |kept| kept.run.bytes());
        }
        Ok(run)
    }

    fn options(watch: &Arc<Watch>, rank: Option<u32>) -> JobOptions {
        JobOptions {
            rank,
            stop: Some(Arc::clone(&watch.stop)),
            progress: Some(Box::new(Watched(Arc::clone(watch)))),
            ..JobOptions::default()
        }
    }
}

#[derive(Debug)]
pub(crate) struct Watched(pub(crate) Arc<Watch>);

impl Progress for Watched {
    fn read(&self, done: u64, total: u64) {
        self.0.read(done, total);
    }
}

impl Asker for Door {
    fn questions(&self) -> &[Question] {
        &self.questions
    }

    fn ask(&self, asked: &Asked, watch: &Arc<Watch>) -> Result<Vec<u8>, Problem> {
        if let Some(words) = about_benchmarks(asked) {
            let wanted = if asked.form == Form::Page { Wanted::File(".html") } else { Wanted::Json };
            // The server's own words about files that it found by itself.
            let asking = Asking { wanted, stop: Arc::clone(&watch.stop), ..Asking::default() };
            return session::ask(&[], &words, &asking).map(|answered| answered.text).map_err(problem);
        }
        let question = self.questions.iter().find(|question| question.name == asked.question);
        let question = question.ok_or_else(|| self.unknown(&asked.question))?;
        let runs: Vec<Arc<OpenRun>> =
            asked.runs.iter().map(|source| self.run(source)).collect::<Result<_, _>>()?;
        let names: Vec<&str> = runs.iter().map(|run| run.name()).collect();
        let words = catalog::words(question, &names, &asked.options).map_err(problem)?;
        let wanted = match asked.form {
            Form::Json => Wanted::Json,
            Form::Csv => Wanted::File(".csv"),
            Form::Arrow | Form::Rows => Wanted::Tables,
            Form::Page => Wanted::File(".html"),
        };
        let asking = Asking {
            wanted,
            reach: Reach::OpenRunsOnly,
            stop: Arc::clone(&watch.stop),
            watch: Some(Arc::clone(watch)),
            ..Asking::default()
        };
        let runs: Vec<&OpenRun> = runs.iter().map(AsRef::as_ref).collect();
        let answered = session::ask(&runs, &words, &asking).map_err(problem)?;
        match asked.form {
            Form::Arrow => first_table(&answered),
            Form::Rows => Ok(rows(&answered, &in_shell(&words, &runs))),
            _ => Ok(answered.text),
        }
    }

    fn overview(&self, source: &Source, watch: &Arc<Watch>) -> Result<Overview, Problem> {
        let run = self.run(source)?;
        if let Some(other) = without_events(&run.sharing(Door::options(watch, None))) {
            return other.map_err(|error| problem(error.into()));
        }
        // No timeline and no flame graph.
        let question = Dossier { most_slices: 0, least_share: 1.0 };
        let outcome = run.sharing(Door::options(watch, None)).ask(&question);
        let outcome = outcome.map_err(|error| problem(error.into()))?;
        let count = |severity| outcome.quality.iter().filter(|note| note.severity == severity).count() as u64;
        let events = outcome.inputs.iter().map(|input| input.events).sum();
        Ok(Overview {
            events,
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            damage: damage(&outcome.quality),
            lacks: lacking(&outcome.answer, run.sharing(JobOptions::default()).holds(Holds::Metrics)),
            ..at_a_glance(&outcome.answer)
        })
    }

    fn unread(&self, file: &Path) -> Option<String> {
        unread(file)
    }

    fn atlas(&self, source: &Source, rank: Option<u32>, watch: &Arc<Watch>) -> Result<Atlas, Problem> {
        let run = self.run(source)?;
        let question = Timeline { most_slices: Some(usize::MAX) };
        let outcome = run.sharing(Door::options(watch, rank)).ask(&question);
        let outcome = outcome.map_err(|error| problem(error.into()))?;
        Ok(Atlas::new(outcome.answer.picture.unwrap_or_default()))
    }
}

impl Door {
    fn unknown(&self, name: &str) -> Problem {
        let known: Vec<&str> = self.questions.iter().map(|question| question.name.as_str()).collect();
        let hint = match gpuscope_server::catalog::nearest(name, &known) {
            Some(near) => format!("is it {near}?"),
            None => format!("the questions are {}", known.join(", ")),
        };
        Problem::new(ProblemKind::Missing, format!("there is no question {name}"), hint)
    }
}

/// The commands about measured runs: one run, two side by side, and the history with its gate.
fn about_benchmarks(asked: &Asked) -> Option<Vec<String>> {
    let paths = asked.runs.iter().flat_map(|run| run.paths.iter().cloned());
    let command: &[&str] = match (asked.question.as_str(), asked.runs.len()) {
        ("bench", 0 | 1) => &["bench", "report"],
        ("bench", _) => &["bench", "compare"],
        // They are about no run.
        ("history" | "gate", _) if asked.runs.iter().any(|run| !run.paths.is_empty()) => return None,
        ("history", _) => &["history", "trend", "--all-projects"],
        ("gate", _) => &["bench", "gate", "--all-projects"],
        _ => return None,
    };
    Some(command.iter().map(|word| (*word).to_owned()).chain(["--".to_owned()]).chain(paths).collect())
}

/// What was lost on the way, and of what the numbers are therefore only a part.
fn damage(quality: &[Quality]) -> Vec<String> {
    let is_damage = |note: &&Quality| {
        note.severity == Severity::Error
            || matches!(note.code, Code::Truncated | Code::MalformedEvents | Code::MalformedEntries)
    };
    let said = |note: &Quality| match note.rank {
        Some(rank) => format!("rank {rank}: {}", note.message),
        None => note.message.clone(),
    };
    quality.iter().filter(is_damage).take(MOST_DAMAGE).map(said).collect()
}

/// A row says this much of it; the question `check` says all.
const MOST_DAMAGE: usize = 3;

/// A run that holds something else than events, and one question knows what: none if it holds events.
fn without_events(run: &Run) -> Option<Result<Overview, gpuscope_job::Error>> {
    if run.holds(Holds::Events) {
        return None;
    }
    let (holds, view, verdict) = [
        (
            Holds::MemoryTimeline,
            "memory",
            "A memory timeline: what was allocated for what, without a time for each step",
        ),
        (Holds::Metrics, "counters", "Counters of single kernels, without a timeline"),
        (Holds::KernelSums, "kernels", "Kernels by name, added up, without a timeline"),
    ]
    .into_iter()
    .find(|(holds, ..)| run.holds(*holds))?;
    let asked = match holds {
        Holds::MemoryTimeline => facts(run.ask(&Memory { series: false })),
        Holds::Metrics => facts(run.ask(&Counters)),
        _ => facts(run.ask(&Kernels::default())),
    };
    let overview = |(inputs, quality): (Vec<InputInfo>, Vec<Quality>)| Overview {
        verdict: verdict.to_owned(),
        view: Some(view.to_owned()),
        events: inputs.iter().map(|input| input.events).sum(),
        ranks: inputs.len() as u64,
        damage: damage(&quality),
        ..Overview::default()
    };
    Some(asked.map(overview))
}

/// What was read for an answer, whatever that is.
fn facts<A>(
    asked: Result<Outcome<A>, gpuscope_job::Error>,
) -> Result<(Vec<InputInfo>, Vec<Quality>), gpuscope_job::Error> {
    asked.map(|outcome| (outcome.inputs, outcome.quality))
}

/// What a file is that is no run, if it is of a format that is known, or its name promises so much.
fn unread(file: &Path) -> Option<String> {
    let head = Head::of(File::open(file).ok()?).ok()?;
    if let Some(format) = head.format()
        && let gpuscope_formats::format::Read::Not(instead) = format.read
    {
        return Some(format!("{}: {instead}", format.title));
    }
    let named_compressed = [".gz", ".zst", ".zstd"].iter().any(|end| file.to_string_lossy().ends_with(end));
    let is_broken = named_compressed && head.compression == Compression::None;
    if !promises(file) || (!head.text().is_empty() && !is_broken) {
        return None;
    }
    Some(if named_compressed && !is_empty(file) {
        "a compressed file that is damaged from its first byte: record or copy it again".to_owned()
    } else {
        "an empty file".to_owned()
    })
}

fn is_empty(file: &Path) -> bool {
    file.metadata().is_ok_and(|file| file.len() == 0)
}

/// Whether a name is one that traces have.
fn promises(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let plain = [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let mut endings =
        FORMATS.iter().flat_map(|format| format.endings).chain(&[".pb", ".pickle", ".pkl", ".raw"]);
    endings.any(|end| plain.ends_with(end))
}

fn at_a_glance(answer: &DossierAnswer) -> Overview {
    let number = |name: &str| answer.numbers.iter().find(|number| number.name == name);
    let value = |name: &str| number(name).and_then(|number| number.value);
    let found = |finding: &gpuscope_analysis::findings::Finding| Found {
        id: finding.id.to_owned(),
        title: finding.title.clone(),
        gain_ns: finding.gain_ns.map(|gain| gain.0),
        gain_pct: finding.gain_pct,
    };
    let ranks = &answer.info.ranks;
    let mut models: Vec<&str> =
        ranks.iter().flat_map(|rank| &rank.devices).filter_map(|device| device.name.as_deref()).collect();
    models.retain(|model| !model.trim().is_empty());
    models.sort_unstable();
    models.dedup();
    Overview {
        verdict: answer.analyze.verdict.clone(),
        ranks: ranks.len() as u64,
        steps: answer.analyze.step.steps as u64,
        gpus: if models.is_empty() {
            String::new()
        } else {
            format!("{} × {}", ranks.len(), models.join(", "))
        },
        models: models.iter().map(|model| (*model).to_owned()).collect(),
        step_ns: answer.analyze.step.median_ns.map(|ns| ns.0),
        each_step_ns: number("step_time").map(|number| number.steps.clone()).unwrap_or_default(),
        numbers: answer.numbers.iter().map(key_number).collect(),
        measured: measured(answer),
        gpu_busy_pct: value("busy"),
        mfu_pct: value("mfu"),
        exposed_communication_pct: value("exposed_comm"),
        findings: answer.analyze.findings.iter().map(found).collect(),
        ..Overview::default()
    }
}

/// The six numbers, and the step time of the slowest steps after that of the median.
fn measured(answer: &DossierAnswer) -> Vec<Measured> {
    let of = |number: &KeyNumber| Measured {
        label: number.label.to_owned(),
        value: number.value,
        unit: match number.unit {
            Unit::Percent => Scale::Percent,
            Unit::Bytes => Scale::Bytes,
            _ => Scale::Ns,
        },
        note: number.note.clone().unwrap_or_default(),
    };
    let mut measured: Vec<Measured> = answer.numbers.iter().map(of).collect();
    let p99 = Measured {
        label: "Step time, p99".to_owned(),
        value: answer.analyze.step.p99_ns.map(Ns::as_f64),
        unit: Scale::Ns,
        note: "too few steps".to_owned(),
    };
    measured.insert(1.min(measured.len()), p99);
    measured
}

/// What was not recorded, by the questions that need it.
fn lacking(answer: &DossierAnswer, has_pages: bool) -> Vec<(String, String)> {
    const GPU: &str = "no GPU work was recorded: ProfilerActivity.CUDA, or nsys profile -t cuda";
    const MEMORY: &str =
        "no allocations were recorded: profile_memory=True, or nsys profile --cuda-memory-usage=true";
    const MODULES: &str = "no modules were recorded: with_stack=True or with_modules=True";
    const OPERATORS: &str = "no operators were recorded: ProfilerActivity.CPU";
    const COLLECTIVES: &str = "no communication between ranks was recorded";
    const COUNTERS: &str = "no counters of kernels were measured: ncu --page raw --csv beside the trace";
    const SERVING: &str = "no steps of an inference server were recorded";
    let analyze = &answer.analyze;
    let has_gpu_work = answer.info.ranks.iter().any(|rank| rank.gpu_events > 0);
    let has_modules = answer.layers.ranks.iter().any(|rank| !rank.layers.is_empty());
    // Sampled, or of kernels that a profiler replayed.
    let counts = |category: &str| {
        answer
            .info
            .ranks
            .iter()
            .any(|rank| rank.events_by_category.get(category).is_some_and(|count| *count > 0))
    };
    let has_counters = has_pages || counts("hardware_counters") || counts("cuda_profiler_range");
    let found = [
        (has_gpu_work, GPU, &["kernels", "idle", "critical-path", "launches", "hta"][..]),
        (!answer.memory.is_empty(), MEMORY, &["memory"]),
        (has_modules, MODULES, &["layers"]),
        (!answer.ops.ops.is_empty(), OPERATORS, &["ops"]),
        (!analyze.collectives.summary.is_empty(), COLLECTIVES, &["collectives", "stragglers"]),
        (analyze.inference.is_some(), SERVING, &["inference"]),
        (has_counters, COUNTERS, &["counters"]),
    ];
    let missing = found.into_iter().filter(|(is_there, ..)| !is_there);
    missing
        .flat_map(|(_, why, names)| names.iter().map(move |name| ((*name).to_owned(), why.to_owned())))
        .collect()
}

fn first_table(answered: &session::Answered) -> Result<Vec<u8>, Problem> {
    let table = answered.tables.first();
    let table = table.ok_or_else(|| {
        Problem::new(ProblemKind::Refused, "this answer has no table", "ask for application/json")
    })?;
    gpuscope_report::arrow::stream(table)
        .map_err(|error| Problem::new(ProblemKind::Bug, error.to_string(), "ask for application/json"))
}

/// More files than these are not named one by one.
const MOST_NAMED: usize = 8;

/// The command to paste: options, and files in the place of runs.
fn in_shell(words: &[String], runs: &[&OpenRun]) -> String {
    let options = words.iter().take_while(|word| *word != "--").map(|word| quoted(word));
    // Of two runs each is one word.
    let most = if runs.len() > 1 { 1 } else { MOST_NAMED };
    let named = runs.iter().flat_map(|run| match run.files() {
        files if files.len() <= most => files.iter().map(|file| quoted(file)).collect(),
        files => vec![quoted(&pattern(files))],
    });
    let words: Vec<String> = std::iter::once("gpuscope".to_owned()).chain(options).chain(named).collect();
    words.join(" ")
}

/// `traces/rank-*.json` for files whose names have the same beginning and end.
fn pattern(files: &[String]) -> String {
    let [first, rest @ ..] = files else { return String::new() };
    let same = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let begin = rest.iter().map(|file| same(first, file)).min().unwrap_or(0);
    let back = |text: &str| text.chars().rev().collect::<String>();
    let end = rest.iter().map(|file| same(&back(first), &back(file))).min().unwrap_or(0);
    let length = files.iter().map(|file| file.chars().count()).min().unwrap_or(0);
    let end = end.min(length.saturating_sub(begin));
    let tail: String = first.chars().skip(first.chars().count() - end).collect();
    format!("{}*{tail}", first.chars().take(begin).collect::<String>())
}

/// Row by row, with what the columns are.
fn rows(answered: &session::Answered, command: &str) -> Vec<u8> {
    let table = |table: &Table| {
        let columns: Vec<_> =
            table.columns.iter().map(|column| json!({"name": column.name, "unit": column.unit})).collect();
        let cell = |column: &Column, row: usize| match &column.values {
            Values::Int(values) => json!(values[row]),
            Values::Float(values) => json!(values[row]),
            Values::Text(values) => json!(values[row]),
        };
        let row = |row| table.columns.iter().map(|column| cell(column, row)).collect::<Vec<_>>();
        let rows: Vec<_> = (0..table.rows()).map(row).collect();
        json!({"name": table.name, "title": table.title, "columns": columns, "rows": rows})
    };
    let tables: Vec<_> = answered.tables.iter().map(table).collect();
    let whole = json!({
        "tables": tables, "quality": answered.quality, "sentence": answered.sentence,
        "command": command,
    });
    whole.to_string().into_bytes()
}

fn problem(refusal: Refusal) -> Problem {
    let hint = refusal.hint.or_else(|| refusal.stopped.then(|| "ask again".to_owned()));
    let kind = match refusal.exit {
        _ if refusal.stopped => ProblemKind::Stopped,
        Exit::USAGE => ProblemKind::Refused,
        Exit::BUG => ProblemKind::Bug,
        _ => ProblemKind::Unreadable,
    };
    Problem { kind, messages: refusal.messages, hint }
}

#[cfg(test)]
mod tests {
    use super::pattern;

    #[test]
    fn files_of_a_run_are_one_word() {
        let files =
            |names: &[&str]| pattern(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(files(&["a/rank-0.json", "a/rank-1.json"]), "a/rank-*.json");
        assert_eq!(files(&["a/rank-1.json", "a/rank-11.json"]), "a/rank-1*.json");
        assert_eq!(files(&["a/x.json", "b/y.gz"]), "*");
    }
}
