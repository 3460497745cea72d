//! What people see: the runs of the folder, each question as the page that the command line writes, two runs side by side.
//! A page of a question is the stand-alone one, below a bar that leads to the others.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use gpuscope_job::Sort;
use gpuscope_report::html::escaped;
use gpuscope_report::served;
use serde_json::Value;

use crate::api::{self, options, pairs};
use crate::asker::{Asked, Form, Overview, Problem};
use crate::catalog::{Kind, Opt, Question, quoted};
use crate::index::{Run, Status};
use crate::jobs::Waiter;
use crate::shared::Shared;
use crate::{answers, beside, theme};

/// The views of a run, in the bar's order: the question and what people call it.
const VIEWS: [(&str, &str); 16] = [
    ("analyze", "Overview"),
    ("timeline", "Timeline"),
    ("flame", "Flame graph"),
    ("kernels", "Kernels"),
    ("ops", "Operators"),
    ("layers", "Layers"),
    ("idle", "Idle time"),
    ("collectives", "Collectives"),
    ("stragglers", "Ranks"),
    ("memory", "Memory"),
    ("critical-path", "Critical path"),
    ("inference", "Inference"),
    ("launches", "Launches"),
    ("counters", "Counters"),
    ("hta", "HTA"),
    ("check", "Data quality"),
];

pub(crate) fn router() -> Router<Arc<Shared>> {
    Router::new()
        .route("/", get(home))
        .route("/runs/{run}", get(to_overview))
        .route("/runs/{run}/{question}", get(question))
        .route("/compare", get(compare))
        .route("/benchmarks", get(benchmarks))
        .route("/api", get(try_it))
        .route("/api/", get(try_it))
}

async fn home(State(shared): State<Arc<Shared>>) -> Response {
    let mut body = bar(&shared, "", None, "runs", "");
    let folder = escaped(&shared.index.root().display().to_string());
    let _ = write!(
        body,
        "<main class=\"column runs\" data-writable=\"{}\"><h1>Runs</h1><p class=\"soft\">{folder}</p>\
         <div id=\"runs\"></div>\
         <noscript><p>This page needs scripts; <a href=\"api/v1/runs\">the same as JSON</a>.</p></noscript>\
         <template id=\"nothing\"><p>There are no runs here yet. What is written to this folder appears by itself:</p>\
         <pre><code>gpuscope profile train.py -o {folder}\ngpuscope demo -o {folder}/demo</code></pre>\
         <pre><code>from gpuscope.profiling import UnifiedProfiler\n\nwith UnifiedProfiler(output_dir=\"{folder}\").profile(\"step\"):\n    train_step()</code></pre></template></main>",
        shared.writable
    );
    html(&served::page("gpuscope", &body))
}

async fn to_overview(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Redirect {
    let view = shared.index.run(&id).map_or("analyze".to_owned(), |run| view_of(&run).to_owned());
    // Relative, as all addresses are: a proxy may have put something before them.
    Redirect::to(&format!("{}/{view}", urlencoded(&id)))
}

/// Where a run's row leads.
pub(crate) fn view_of(run: &Run) -> &str {
    match run.sort {
        Sort::CompileLogs => "compile",
        Sort::Benchmarks => "bench",
        Sort::Traces => run.overview.as_deref().and_then(|known| known.view.as_deref()).unwrap_or("analyze"),
    }
}

async fn question(
    State(shared): State<Arc<Shared>>,
    Path((id, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let run = match shared.run(&id) {
        Ok(run) => run,
        Err(problem) => return Ok(failed(&problem, &bar(&shared, "../../", None, "", ""))),
    };
    let words = pairs(query.as_deref());
    // A stand-alone page holds a part of what the server can show.
    if name == "timeline" {
        let rank =
            words.get("rank").and_then(|ranks| ranks.last()).filter(|rank| rank.parse::<u32>().is_ok());
        let rank = rank.map_or("all", String::as_str);
        let rest: BTreeMap<_, _> = words.clone().into_iter().filter(|(name, _)| name != "rank").collect();
        return Ok(Redirect::to(&format!("timeline/{rank}/{}", query_of(&rest))).into_response());
    }
    let asked = Asked {
        runs: vec![run.source.clone()],
        question: name.clone(),
        options: options(&shared, &name, words.clone()),
        form: Form::Page,
    };
    framed(&shared, asked, &headers, |shared| {
        let mut bar = bar(shared, "../../", Some(&run), &name, &selection(&words));
        bar.push_str(&asking(shared, &run, &name, &words));
        bar
    })
    .await
}

async fn compare(
    State(shared): State<Arc<Shared>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let mut words = pairs(query.as_deref());
    let mut named = |name: &str| words.remove(name).and_then(|mut names| names.pop()).unwrap_or_default();
    let (a, b) = (named("a"), named("b"));
    let chooser = chooser(&shared, &a, &b, &words);
    if a.is_empty() || b.is_empty() {
        let mut body = bar(&shared, "", None, "compare", "");
        let _ = write!(body, "<main class=\"column\"><h1>Compare</h1>{chooser}</main>");
        return Ok(html(&served::page("gpuscope compare", &body)));
    }
    let both = shared.run(&a).and_then(|a| Ok((a, shared.run(&b)?)));
    let (first, second) = match both {
        Ok(both) => both,
        Err(problem) => return Ok(failed(&problem, &bar(&shared, "", None, "compare", ""))),
    };
    let mut runs = vec![first.source.clone(), second.source.clone()];
    // A run beside itself: one of its ranks beside the others.
    if a == b {
        runs.truncate(1);
        for (name, usual) in [("rank", "0"), ("against", "median")] {
            words.entry(name.to_owned()).or_insert_with(|| vec![usual.to_owned()]);
        }
    }
    words.retain(|_, values| values.iter().any(|value| !value.is_empty()));
    // A tree says nothing of steps.
    let mut plain = words.clone();
    plain.remove("tree");
    let numbers = Asked {
        runs: runs.clone(),
        question: "diff".to_owned(),
        options: options(&shared, "diff", plain),
        form: Form::Json,
    };
    let options = options(&shared, "diff", words);
    let asked = Asked { runs, question: "diff".to_owned(), options, form: Form::Page };
    let top = |shared: &Shared| {
        format!("{}<div class=\"ask\">{chooser}</div>", bar(shared, "", None, "compare", ""))
    };
    if a == b {
        return framed(&shared, asked, &headers, top).await;
    }
    // First what both are as numbers, then the page below that: the runs are open by then.
    let key = answers::key_of(&numbers);
    if accepts_events(&headers) && shared.answers.known(&key).is_none() {
        return api::answer(&shared.answers, numbers, &headers).await;
    }
    let _held = held(&shared, &numbers);
    let known = match tokio::time::timeout(AT_ONCE, shared.answers.ask(numbers.clone())).await {
        Ok(Ok(known)) => known,
        Ok(Err(problem)) => return Ok(failed(&problem, &top(&shared))),
        Err(_) => return Ok(working(&shared, numbers, &top(&shared))),
    };
    let answer: Value = serde_json::from_slice(&known).unwrap_or_default();
    let above = |shared: &Shared| top(shared) + &beside::section(&first, &second, &answer);
    let (parts, body) = framed(&shared, asked, &headers, above).await?.into_parts();
    let is_page =
        parts.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    if !is_page {
        return Ok(Response::from_parts(parts, body));
    }
    let page = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    Ok(Response::from_parts(parts, beside::renamed(&page, &first, &second).into()))
}

pub(crate) fn accepts_events(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/event-stream"))
}

/// How the numbers of benchmarks went, below the runs that are in the folder.
async fn benchmarks(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Result<Response, Problem> {
    let runs = shared.index.runs();
    let mut list = String::new();
    for run in runs.iter().filter(|run| run.sort == Sort::Benchmarks) {
        let _ =
            write!(list, "<a href=\"runs/{}/bench\">{}</a> ", urlencoded(&run.id), escaped(&run.source.name));
    }
    let asked = api::about_benchmarks("history", vec![api::the_history()], Form::Page);
    framed(&shared, asked, &headers, |shared| {
        format!("{}<div class=\"ask\">{list}</div>", bar(shared, "", None, "benchmarks", ""))
    })
    .await
}

/// Whether there are events in it to set beside those of another.
fn is_comparable(run: &Run) -> bool {
    let is_broken = matches!(run.status, Status::Damaged(_) | Status::Unread(_));
    !is_broken && run.overview.as_deref().is_none_or(|overview| overview.view.is_none())
}

fn chooser(shared: &Shared, a: &str, b: &str, words: &BTreeMap<String, Vec<String>>) -> String {
    let mut runs = shared.index.runs();
    runs.retain(|run| run.sort == Sort::Traces && (is_comparable(run) || run.id == a || run.id == b));
    let choice = |chosen: &str| {
        let mut choices = String::new();
        for run in &runs {
            let selected = if run.id == chosen { " selected" } else { "" };
            let _ = write!(
                choices,
                "<option value=\"{}\"{selected}>{}</option>",
                escaped(&run.id),
                escaped(&run.source.name)
            );
        }
        choices
    };
    let second = runs.get(1).map_or("", |run| run.id.as_str());
    let first = runs.first().map_or("", |run| run.id.as_str());
    let (a, b) = (if a.is_empty() { second } else { a }, if b.is_empty() { first } else { b });
    let given = |name: &str| words.get(name).and_then(|values| values.last()).map_or("", String::as_str);
    let number = |name: &str, label: &str, hint: &str| {
        format!(
            "<label>{label} <input name=\"{name}\" value=\"{}\" placeholder=\"{hint}\" size=\"6\"></label> ",
            escaped(given(name))
        )
    };
    let tree = if given("tree").is_empty() { "" } else { " checked" };
    // Ranks of one run are compared by naming it twice.
    let against = if a == b { number("against", "against rank", "median") } else { String::new() };
    format!(
        "<form><label>From <select name=\"a\">{}</select></label> <label>to <select name=\"b\">{}</select></label> \
         {}{against}{}<label><input type=\"checkbox\" name=\"tree\" value=\"true\"{tree}> by call path</label> \
         <button>Compare</button></form>",
        choice(a),
        choice(b),
        number("rank", "rank", if a == b { "0" } else { "all" }),
        number("step", "step", "all"),
    )
}

/// What takes longer gets a page that tells how far it is.
pub(crate) const AT_ONCE: Duration = Duration::from_millis(600);
/// The page asks to be told within this time; until then somebody else waits.
const HANDOVER: Duration = Duration::from_secs(5);

/// A page that follows the work by its own address, and then shows what came of it.
fn working(shared: &Arc<Shared>, asked: Asked, bar: &str) -> Response {
    let key = answers::key_of(&asked);
    let known = shared.index.runs().into_iter().find(|run| asked.runs == [run.source.clone()]);
    let known = known.and_then(|run| run.overview).filter(|_| asked.question == "analyze");
    let first = known.as_deref().map_or("<h1>Reading</h1>".to_owned(), at_a_glance);
    match shared.answers.begin(&key, asked) {
        Ok(waiter) => followed(waiter, &first, bar),
        Err(problem) => failed(&problem, bar),
    }
}

/// Waits beside whoever asks, so that work which takes longer than a page does at once goes on instead of beginning anew.
fn held(shared: &Arc<Shared>, asked: &Asked) -> Option<Waiter<Bytes>> {
    let key = answers::key_of(asked);
    match shared.answers.known(&key) {
        Some(_) => None,
        None => shared.answers.begin(&key, asked.clone()).ok(),
    }
}

/// The page waits in the place of whoever asked, until it follows by itself.
pub(crate) fn followed<T: Clone + Send + Sync + 'static>(
    waiter: Waiter<T>,
    first: &str,
    bar: &str,
) -> Response {
    tokio::spawn(async move {
        let _ = tokio::time::timeout(HANDOVER, waiter.outcome()).await;
    });
    let body = format!(
        "{bar}<main class=\"column\">{first}<p id=\"working\" role=\"status\"><progress max=\"1\"></progress> \
         <span></span></p></main>"
    );
    html(&served::page("gpuscope", &body))
}

/// The first screen of a report as far as the index knows it, while the rest is worked out.
fn at_a_glance(overview: &Overview) -> String {
    let mut first =
        format!("<h1 class=\"verdict\">{}</h1><dl class=\"numbers\">", escaped(&overview.verdict));
    for (label, value, note) in &overview.numbers {
        let (label, value, note) = (escaped(label), escaped(value), escaped(note));
        let _ = write!(
            first,
            "<div><dt>{label}</dt><dd><b>{value}</b><span class=\"soft\">{note}</span></dd></div>"
        );
    }
    first.push_str("</dl><ol>");
    for finding in &overview.findings {
        let _ = write!(first, "<li>{}</li>", escaped(&finding.title));
    }
    first.push_str("</ol>");
    first
}

/// The page of an answer, below the bar; what went wrong is a page, too.
async fn framed(
    shared: &Arc<Shared>,
    asked: Asked,
    headers: &HeaderMap,
    bar: impl FnOnce(&Shared) -> String,
) -> Result<Response, Problem> {
    let _held = held(shared, &asked);
    let answered = api::answer(&shared.answers, asked.clone(), headers);
    let Ok(answered) = tokio::time::timeout(AT_ONCE, answered).await else {
        return Ok(working(shared, asked, &bar(shared)));
    };
    let response = match answered {
        Ok(response) => response,
        Err(problem) => return Ok(failed(&problem, &bar(shared))),
    };
    let kind = response.headers().get(header::CONTENT_TYPE).map(header::HeaderValue::as_bytes);
    let is_page = kind.is_some_and(|kind| kind.starts_with(b"text/html"));
    // How far the work is comes as it is told.
    if !is_page || response.status() == axum::http::StatusCode::NOT_MODIFIED {
        return Ok(response);
    }
    let (mut parts, body) = response.into_parts();
    let page = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    parts.headers.remove(header::CONTENT_LENGTH);
    Ok(Response::from_parts(parts, spliced(&page, &bar(shared)).into()))
}

/// From a page of a timeline to the first page.
pub(crate) const BELOW_TIMELINE: &str = "../../../../";

/// A page of the timeline that is served, below the bar.
pub(crate) async fn with_bar(response: Response, bar: &str) -> Response {
    let (parts, body) = response.into_parts();
    let page = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    Response::from_parts(parts, spliced(&page, bar).into())
}

/// Rank and step of a timeline.
pub(crate) fn timeline_form(words: &BTreeMap<String, Vec<String>>) -> String {
    let field = |name: &str| {
        let value = words.get(name).and_then(|values| values.last()).map_or("", String::as_str);
        let value = escaped(value);
        format!(
            "<label>{name} <input name=\"{name}\" value=\"{value}\" placeholder=\"all\" size=\"6\"></label> "
        )
    };
    format!("<form class=\"ask\">{}{}<button>Show</button></form>", field("rank"), field("step"))
}

/// With the bar at the beginning of the page's body.
fn spliced(page: &[u8], bar: &str) -> Bytes {
    const BODY: &[u8] = b"<body>\n";
    let Some(at) = page.windows(BODY.len()).position(|window| window == BODY) else {
        return Bytes::copy_from_slice(page);
    };
    let at = at + BODY.len();
    let whole = [&page[..at], served::BAR_STYLE.as_bytes(), bar.as_bytes(), &page[at..]].concat();
    Bytes::from(theme::allowed(&whole))
}

/// Whether a browser asks for a page to show.
pub(crate) fn is_for_people(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

pub(crate) fn failed(problem: &Problem, bar: &str) -> Response {
    let mut body = bar.to_owned();
    let hint = problem.hint.as_deref().map(|hint| format!("<p>{}</p>", escaped(hint))).unwrap_or_default();
    let what = escaped(&problem.messages.join("; "));
    let _ = write!(body, "<main class=\"column\"><h1>No answer</h1><p>{what}</p>{hint}</main>");
    let mut response = html(&served::page("gpuscope", &body));
    *response.status_mut() = problem.status();
    response
}

/// Where one is, and where one can go; `up` leads to the first page.
pub(crate) fn bar(shared: &Shared, up: &str, run: Option<&Run>, here: &str, selection: &str) -> String {
    // Below the views of a run, the timeline has pages of its own.
    let views = if here == "timeline" { "../../" } else { "" };
    let mut bar =
        format!("<nav class=\"top\" aria-label=\"gpuscope\"><a href=\"{up}./\"><b>gpuscope</b></a>");
    let link = |bar: &mut String, href: &str, text: &str, is_here: bool| {
        let current = if is_here { " aria-current=\"page\"" } else { "" };
        let _ = write!(bar, "<a href=\"{href}\"{current}>{text}</a>");
    };
    let lacks = run.and_then(|run| run.overview.as_deref()).map_or(&[][..], |overview| &overview.lacks);
    if let Some(run) = run {
        let _ = write!(bar, "<span class=\"name\">{}</span>", escaped(&run.source.name));
        match run.sort {
            Sort::Traces => {
                let only = run.overview.as_deref().and_then(|overview| overview.view.as_deref());
                let fits = |question: &str| only.is_none_or(|only| only == question || question == "check");
                for (question, text) in VIEWS.into_iter().filter(|(question, _)| fits(question)) {
                    let known = shared.asker.questions().iter().any(|known| known.name == question);
                    let missing = lacks.iter().find(|(name, _)| name == question);
                    let href = format!("{views}{question}{selection}");
                    if let Some((_, why)) = missing.filter(|_| known) {
                        let current = if question == here { " aria-current=\"page\"" } else { "" };
                        let why = escaped(why);
                        let _ = write!(
                            bar,
                            "<a href=\"{href}\" class=\"lacks\" title=\"{why}\"{current}>{text}</a>"
                        );
                    } else if known {
                        link(&mut bar, &href, text, question == here);
                    }
                }
            }
            Sort::CompileLogs => link(&mut bar, "compile", "Compile", here == "compile"),
            Sort::Benchmarks => link(&mut bar, "bench", "Benchmarks", here == "bench"),
        }
        if run.sort == Sort::Traces && is_comparable(run) {
            let other = format!("{up}compare?b={}", urlencoded(&run.id));
            link(&mut bar, &escaped(&other), "Compare", false);
        }
    } else {
        link(&mut bar, &format!("{up}./"), "Runs", here == "runs");
        link(&mut bar, &format!("{up}compare"), "Compare", here == "compare");
        link(&mut bar, &format!("{up}benchmarks"), "Benchmarks", here == "benchmarks");
        link(&mut bar, &format!("{up}api/"), "For programs", here == "api");
    }
    bar.push_str(&theme::switch());
    bar
}

/// What stays the same from view to view: rank, step and device.
pub(crate) fn selection(words: &BTreeMap<String, Vec<String>>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for name in SELECTED {
        if let Some(value) =
            words.get(name).and_then(|values| values.last()).filter(|value| !value.is_empty())
        {
            query.append_pair(name, value);
        }
    }
    let query = query.finish();
    if query.is_empty() { query } else { escaped(&format!("?{query}")) }
}

const SELECTED: [&str; 3] = ["rank", "step", "device"];

/// The question's options as a form, the same for the shell, and for programs.
fn asking(shared: &Shared, run: &Run, name: &str, words: &BTreeMap<String, Vec<String>>) -> String {
    let Some(question) = shared.asker.questions().iter().find(|known| known.name == name) else {
        return String::new();
    };
    let mut form = String::from("<form class=\"ask\">");
    let is_first = |option: &&Opt| SELECTED.contains(&option.name.as_str());
    let options = || question.options.iter().filter(|option| !option.for_files);
    for option in options().filter(is_first) {
        form.push_str(&field(option, words));
    }
    let more: Vec<&Opt> = options().filter(|option| !is_first(option)).collect();
    if !more.is_empty() {
        // What was chosen is to be seen.
        let is_open = more.iter().any(|option| words.contains_key(&option.name));
        form.push_str(if is_open { "<details open>" } else { "<details>" });
        form.push_str("<summary>More options</summary>");
        for option in more {
            form.push_str(&field(option, words));
        }
        form.push_str("</details>");
    }
    form.push_str("<button>Show</button>");
    let query = query_of(words);
    let _ = write!(
        form,
        "<span class=\"soft\"><code>{}</code> · <a href=\"../../api/v1/runs/{}/{name}{}\">JSON</a></span></form>",
        escaped(&in_shell(question, run, words)),
        urlencoded(&run.id),
        escaped(&query)
    );
    form
}

fn field(option: &Opt, words: &BTreeMap<String, Vec<String>>) -> String {
    let (name, help) = (escaped(&option.name), escaped(&option.help));
    let value = words.get(&option.name).and_then(|values| values.last()).cloned().unwrap_or_default();
    let label = escaped(&option.name.replace('_', " "));
    if option.kind == Kind::Flag {
        let checked = if matches!(value.as_str(), "true" | "1") { " checked" } else { "" };
        return format!(
            "<label title=\"{help}\"><input type=\"checkbox\" name=\"{name}\" value=\"true\"{checked}> {label}</label> "
        );
    }
    if !option.choices.is_empty() {
        let mut choices = String::from("<option value=\"\"></option>");
        for choice in &option.choices {
            let selected = if *choice == value { " selected" } else { "" };
            let choice = escaped(choice);
            let _ = write!(choices, "<option{selected}>{choice}</option>");
        }
        return format!(
            "<label title=\"{help}\">{label} <select name=\"{name}\">{choices}</select></label> "
        );
    }
    let default = escaped(option.default.as_deref().unwrap_or_default());
    format!(
        "<label title=\"{help}\">{label} <input name=\"{name}\" value=\"{}\" placeholder=\"{default}\" size=\"8\"></label> ",
        escaped(&value)
    )
}

pub(crate) fn query_of(words: &BTreeMap<String, Vec<String>>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, values) in words {
        for value in values.iter().filter(|value| !value.is_empty()) {
            query.append_pair(name, value);
        }
    }
    let query = query.finish();
    if query.is_empty() { query } else { format!("?{query}") }
}

/// The command to paste.
pub(crate) fn in_shell(question: &Question, run: &Run, words: &BTreeMap<String, Vec<String>>) -> String {
    let mut command = format!("gpuscope {}", question.name);
    for path in &run.source.paths {
        let _ = write!(command, " {}", quoted(path));
        if run.source.paths.len() > 8 {
            command.push_str(" …");
            break;
        }
    }
    for option in &question.options {
        let Some(flag) = &option.flag else { continue };
        for value in words.get(&option.name).into_iter().flatten().filter(|value| !value.is_empty()) {
            match (option.kind, value.as_str()) {
                (Kind::Flag, "true" | "1") => {
                    let _ = write!(command, " {flag}");
                }
                (Kind::Flag, _) => {}
                _ => {
                    let _ = write!(command, " {flag} {}", quoted(value));
                }
            }
        }
    }
    command
}

pub(crate) fn urlencoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(byte as char),
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

/// Every question as a form whose answer opens beside it.
async fn try_it(State(shared): State<Arc<Shared>>, RawQuery(query): RawQuery) -> Response {
    let mut body = bar(&shared, "../", None, "api", "");
    body.push_str(
        "<main class=\"column\"><h1>For programs</h1>\
         <p>Every question of the command line is an address; answers are JSON with integers in nanoseconds, or by \
         <code>Accept</code> CSV (<code>text/csv</code>), Arrow (<code>application/vnd.apache.arrow.stream</code>) and pages \
         (<code>text/html</code>). <a href=\"openapi.json\">OpenAPI description</a> · <a href=\"v1/runs\">the runs</a> · \
         <a href=\"v1/questions\">the questions</a>. Agents connect to <code>mcp</code> of this address.</p>",
    );
    let chosen = pairs(query.as_deref()).remove("run").and_then(|mut names| names.pop());
    let newest = |sort| shared.newest(sort).map_or("newest".to_owned(), |run| run.id);
    let (traces, logs) = (chosen.clone().unwrap_or_else(|| newest(Sort::Traces)), newest(Sort::CompileLogs));
    body.push_str("<form class=\"ask\"><label>Run <select name=\"run\">");
    for run in shared.index.runs().iter().filter(|run| run.sort == Sort::Traces) {
        let selected = if run.id == traces { " selected" } else { "" };
        let (id, name) = (escaped(&run.id), escaped(&run.source.name));
        let _ = write!(body, "<option value=\"{id}\"{selected}>{name}</option>");
    }
    body.push_str("</select></label> <button>Choose</button></form>");
    for question in shared.asker.questions() {
        let newest = if question.name == "compile" { &logs } else { &traces };
        let _ = write!(
            body,
            "<section><h2><code>/api/v1/runs/{{run}}/{name}</code></h2><p>{about}</p>\
             <form class=\"ask\" action=\"v1/runs/{run}/{name}\" target=\"_blank\">",
            name = escaped(&question.name),
            about = escaped(&question.about),
            run = urlencoded(newest),
        );
        if question.runs == 2 {
            body.push_str("<label>with <input name=\"with\" required size=\"16\"></label> ");
        }
        for option in question.options.iter().filter(|option| !option.for_files) {
            body.push_str(&field(option, &BTreeMap::new()));
        }
        body.push_str("<button>Ask</button></form></section>");
    }
    body.push_str("</main>");
    html(&served::page("gpuscope for programs", &body))
}

fn html(page: &[u8]) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], theme::allowed(page)).into_response()
}
