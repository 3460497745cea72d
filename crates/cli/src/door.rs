//! The door for servers: runs that stay open as far as there is room, asked by the catalogue's words.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use gpuscope_analysis::Timeline;
use gpuscope_analysis::dossier::{Dossier, DossierAnswer};
use gpuscope_analysis::timeline::Atlas;
use gpuscope_job::{JobOptions, Progress};
use gpuscope_report::key_number;
use gpuscope_server::asker::{Asked, Asker, Form, Found, Overview, Problem, ProblemKind, Source, Watch};
use gpuscope_server::catalog::{Question, quoted};
use gpuscope_table::{Column, Table, Values};
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
        // No timeline and no flame graph.
        let question = Dossier { most_slices: 0, least_share: 1.0 };
        let outcome = run.sharing(Door::options(watch, None)).ask(&question);
        let outcome = outcome.map_err(|error| problem(error.into()))?;
        let count = |severity| outcome.quality.iter().filter(|note| note.severity == severity).count() as u64;
        let events = outcome.inputs.iter().map(|input| input.events).sum();
        Ok(Overview {
            events,
            errors: count(gpuscope_trace::Severity::Error),
            warnings: count(gpuscope_trace::Severity::Warning),
            ..at_a_glance(&outcome.answer)
        })
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
        step_ns: answer.analyze.step.median_ns.map(|ns| ns.0),
        each_step_ns: number("step_time").map(|number| number.steps.clone()).unwrap_or_default(),
        numbers: answer.numbers.iter().map(key_number).collect(),
        gpu_busy_pct: value("busy"),
        mfu_pct: value("mfu"),
        exposed_communication_pct: value("exposed_comm"),
        findings: answer.analyze.findings.iter().map(found).collect(),
        lacks: lacking(answer),
        ..Overview::default()
    }
}

/// What was not recorded, by the questions that need it.
fn lacking(answer: &DossierAnswer) -> Vec<(String, String)> {
    const GPU: &str = "no GPU work was recorded: ProfilerActivity.CUDA, or nsys profile -t cuda";
    const MEMORY: &str =
        "no allocations were recorded: profile_memory=True, or nsys profile --cuda-memory-usage=true";
    const MODULES: &str = "no modules were recorded: with_stack=True or with_modules=True";
    const OPERATORS: &str = "no operators were recorded: ProfilerActivity.CPU";
    const COLLECTIVES: &str = "no communication between ranks was recorded";
    const SERVING: &str = "no steps of an inference server were recorded";
    let analyze = &answer.analyze;
    let has_gpu_work = answer.info.ranks.iter().any(|rank| rank.gpu_events > 0);
    let has_modules = answer.layers.ranks.iter().any(|rank| !rank.layers.is_empty());
    let found = [
        (has_gpu_work, GPU, &["kernels", "idle", "critical-path", "launches", "hta"][..]),
        (!answer.memory.is_empty(), MEMORY, &["memory"]),
        (has_modules, MODULES, &["layers"]),
        (!answer.ops.ops.is_empty(), OPERATORS, &["ops"]),
        (!analyze.collectives.summary.is_empty(), COLLECTIVES, &["collectives", "stragglers"]),
        (analyze.inference.is_some(), SERVING, &["inference"]),
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
    let named = runs.iter().flat_map(|run| run.files().iter().take(MOST_NAMED).map(|file| quoted(file)));
    let more = runs.iter().any(|run| run.files().len() > MOST_NAMED).then(|| "…".to_owned());
    let words: Vec<String> =
        std::iter::once("gpuscope".to_owned()).chain(options).chain(named).chain(more).collect();
    words.join(" ")
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
    let kind = match refusal.exit {
        _ if refusal.stopped => ProblemKind::Stopped,
        Exit::USAGE => ProblemKind::Refused,
        Exit::BUG => ProblemKind::Bug,
        _ => ProblemKind::Unreadable,
    };
    Problem { kind, messages: refusal.messages, hint: refusal.hint }
}
