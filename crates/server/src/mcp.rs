//! The door for agents (Model Context Protocol): five tools over the catalogue instead of one for each question.
//!
//! Answers are cut to what a client takes and say where to go on; each comes with the command that shows it and, where a
//! server has pages, with a link.

use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, JsonObject, ListPromptsResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, Prompt, PromptArgument, PromptMessage,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, Role,
    ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value, json};

use crate::asker::{Asked, Form, Problem, ProblemKind};
use crate::catalog::Question;
use crate::shared::Shared;
use crate::{api, pages};

/// Of an answer: 20,000 tokens are rarely less than this many bytes of numbers and names.
const MOST_BYTES: usize = 48_000;
/// Of its rows; the rest is for what the columns are and remarks.
const MOST_ROWS: usize = 3 * MOST_BYTES / 4;

const INSTRUCTIONS: &str = "gpuscope explains why GPUs were slow, from recorded traces. Begin with `runs`, then `analyze` \
    a run: its findings carry the expected gain, the evidence, a confidence and a command. Use `describe` to find a question and \
    its options and `ask` to put it; `compare` tells what changed between two runs. All durations are integers in nanoseconds. \
    Where the data does not tell, the answer says so: do not guess beyond it.";

#[derive(Clone)]
pub(crate) struct Mcp {
    pub(crate) shared: Arc<Shared>,
    /// Where its pages are, for whoever asked.
    pub(crate) address: Option<String>,
}

/// By what whoever sent this request reaches the server: by the name that it was told, else by the one that was asked for.
fn address_of(parts: &Parts, names: &[String], base: &str) -> Option<String> {
    let text = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let host = text("host").or_else(|| parts.uri.authority().map(axum::http::uri::Authority::as_str))?;
    let is_named = |name: &String| {
        host == name || host.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with(':'))
    };
    let known = match names.first() {
        // With its port.
        Some(_) if names.iter().any(is_named) => host,
        Some(first) => first.as_str(),
        None => host,
    };
    let scheme = if text("x-forwarded-proto") == Some("https") { "https" } else { "http" };
    Some(format!("{scheme}://{known}{base}/"))
}

type Told = Result<Value, Problem>;

impl Mcp {
    /// With links that work for whoever asked; over standard input there are none.
    fn reached(&self, context: &RequestContext<RoleServer>) -> Mcp {
        let Shared { access, base, .. } = &*self.shared;
        let parts = context.extensions.get::<Parts>();
        let address = parts.and_then(|parts| address_of(parts, &access.hosts, base));
        Mcp { shared: Arc::clone(&self.shared), address }
    }

    async fn call(&self, name: &str, arguments: &JsonObject) -> Told {
        if let Some(tool) = tools().iter().find(|tool| tool.name == name) {
            checked(tool, arguments)?;
        }
        match name {
            "runs" => Ok(self.runs(arguments)),
            "analyze" => self.analyze(arguments).await,
            "describe" => self.describe(arguments),
            "ask" => self.ask(arguments).await,
            "compare" => self.compare(arguments).await,
            other => {
                let hint = "the tools are runs, analyze, describe, ask and compare";
                Err(Problem::new(ProblemKind::Missing, format!("there is no tool {other}"), hint))
            }
        }
    }

    fn runs(&self, arguments: &JsonObject) -> Value {
        let wanted = text(arguments, "search").unwrap_or_default().to_lowercase();
        let first = number(arguments, "cursor");
        let runs: Vec<_> = self.shared.index.runs();
        let fits = |name: &str| wanted.is_empty() || name.to_lowercase().contains(&wanted);
        let runs: Vec<_> = runs.iter().filter(|run| fits(&run.source.name)).collect();
        let described = |run: &&crate::index::Run| {
            let mut value = api::described(run, &self.shared);
            value["link"] = json!(self.link(&run.id, "analyze"));
            value
        };
        // More than these never have room.
        let described: Vec<Value> = runs.iter().skip(first).take(200).map(described).collect();
        let (shown, _) = as_many(&described, 0, MOST_BYTES, MOST_BYTES);
        let next = first + shown.len();
        let more = (next < runs.len()).then_some(next);
        json!({"folder": self.shared.index.root().display().to_string(), "total": runs.len(), "runs": shown, "next_cursor": more})
    }

    async fn analyze(&self, arguments: &JsonObject) -> Told {
        let (run, source) = self.run(arguments, "run")?;
        let asked = Asked {
            runs: vec![source],
            question: "analyze".to_owned(),
            options: chosen(arguments),
            form: Form::Json,
        };
        let bytes = self.shared.answers.ask(asked).await?;
        let whole: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let data = &whole["data"];
        let findings = data["findings"].as_array().map_or(&[][..], Vec::as_slice);
        let first = number(arguments, "cursor");
        let (shown, next) = as_many(findings, first, MOST_BYTES / 2, MOST_BYTES / 2);
        let abstains = findings.is_empty();
        Ok(json!({
            "run": run,
            "verdict": data["verdict"],
            "step": data["step"],
            "findings": shown,
            "total_findings": findings.len(),
            "next_cursor": next,
            "joint_gain_ns": data["joint_gain_ns"],
            "roof": data["roof"],
            "quality": remarks(&whole["quality"]),
            "note": if abstains { "no single cause worth 2 % of a step could be named" } else { "gains are re-timed steps, and overlap: joint_gain_ns is all of them together" },
            "command": self.in_shell(&run, "analyze"),
            "link": self.link(&run, "analyze"),
        }))
    }

    /// The command that shows the same.
    fn in_shell(&self, run: &str, question: &str) -> Option<String> {
        let run = self.shared.run(run).ok()?;
        let question = self.shared.asker.questions().iter().find(|known| known.name == question)?;
        Some(pages::in_shell(question, &run, &std::collections::BTreeMap::new()))
    }

    fn describe(&self, arguments: &JsonObject) -> Told {
        let questions = self.shared.asker.questions();
        let Some(name) = text(arguments, "question") else {
            let brief = |question: &Question| json!({"question": question.name, "answers": question.about});
            return Ok(json!({"questions": questions.iter().map(brief).collect::<Vec<_>>()}));
        };
        let question = questions.iter().find(|question| question.name == name);
        let question = question.ok_or_else(|| {
            let known: Vec<&str> = questions.iter().map(|question| question.name.as_str()).collect();
            let hint = hint_of(name, &known, "the questions are");
            Problem::new(ProblemKind::Missing, format!("there is no question {name}"), hint)
        })?;
        let options: Vec<_> = question.options.iter().filter(|option| !option.for_files).collect();
        Ok(
            json!({"question": question.name, "answers": question.about, "runs": question.runs, "options": options}),
        )
    }

    async fn ask(&self, arguments: &JsonObject) -> Told {
        let (run, source) = self.run(arguments, "run")?;
        let question = text(arguments, "question").unwrap_or("analyze").to_owned();
        let mut runs = vec![source];
        if text(arguments, "with").is_some() {
            runs.push(self.run(arguments, "with")?.1);
        }
        let asked = Asked { runs, question: question.clone(), options: chosen(arguments), form: Form::Rows };
        self.rows(asked, arguments, self.link(&run, &question)).await
    }

    async fn compare(&self, arguments: &JsonObject) -> Told {
        let ((before, a), (after, b)) = (self.run(arguments, "before")?, self.run(arguments, "after")?);
        let link = self.address.as_ref().map(|address| {
            let query = form_urlencoded::Serializer::new(String::new())
                .append_pair("a", &before)
                .append_pair("b", &after)
                .finish();
            format!("{address}compare?{query}")
        });
        let question = "diff".to_owned();
        let asked = Asked { runs: vec![a, b], question, options: chosen(arguments), form: Form::Rows };
        self.rows(asked, arguments, link).await
    }

    /// Tables from a place on, as far as there is room.
    async fn rows(&self, asked: Asked, arguments: &JsonObject, link: Option<String>) -> Told {
        let bytes = self.shared.answers.ask(asked).await?;
        let whole: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let wanted = text(arguments, "table");
        let tables: Vec<&str> = whole["tables"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|table| table["name"].as_str())
            .collect();
        if let Some(wanted) = wanted.filter(|wanted| !tables.contains(wanted)) {
            let hint = hint_of(wanted, &tables, "the tables are");
            return Err(Problem::new(ProblemKind::Missing, format!("there is no table {wanted}"), hint));
        }
        let first = number(arguments, "cursor");
        let (mut shown, mut room, mut passed, mut next) = (Vec::new(), MOST_ROWS, 0, None);
        for table in whole["tables"].as_array().into_iter().flatten() {
            if wanted.is_some_and(|wanted| table["name"] != *wanted) {
                continue;
            }
            let rows = table["rows"].as_array().map_or(&[][..], Vec::as_slice);
            let skip = first.saturating_sub(passed).min(rows.len());
            let (kept, more) = as_many(rows, skip, room, MOST_ROWS);
            room -= kept.iter().map(|row| row.to_string().len() + 1).sum::<usize>().min(room);
            next = more.map(|row| passed + row);
            if skip < rows.len() || (rows.is_empty() && first == 0) {
                shown.push(json!({
                    "name": table["name"], "title": table["title"], "columns": table["columns"],
                    "total_rows": rows.len(), "first_row": skip, "rows": kept,
                }));
            }
            passed += rows.len();
            if next.is_some() {
                break;
            }
        }
        Ok(json!({
            "sentence": whole["sentence"], "tables": shown, "quality": remarks(&whole["quality"]),
            "command": whole["command"], "next_cursor": next, "link": link,
        }))
    }

    fn run(&self, arguments: &JsonObject, name: &str) -> Result<(String, crate::asker::Source), Problem> {
        let run = self.shared.run(text(arguments, name).unwrap_or("newest"))?;
        Ok((run.id, run.source))
    }

    fn link(&self, run: &str, question: &str) -> Option<String> {
        self.address.as_ref().map(|address| format!("{address}runs/{}/{question}", pages::urlencoded(run)))
    }
}

/// Holds arguments to what the tool takes: a name that is misspelt must not be passed over.
fn checked(tool: &Tool, arguments: &JsonObject) -> Result<(), Problem> {
    let schema = &tool.input_schema;
    let none = Map::new();
    let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let names: Vec<&str> = known.keys().map(String::as_str).collect();
    for (name, value) in arguments {
        let Some(wanted) = known.get(name) else {
            let message = format!("{}: there is no argument {name}", tool.name);
            return Err(Problem::new(ProblemKind::Refused, message, hint_of(name, &names, "it takes")));
        };
        let fits = match wanted["type"].as_str() {
            Some("string") => value.is_string(),
            Some("integer") => value.as_u64().is_some(),
            Some("object") => value.is_object(),
            _ => true,
        };
        if !fits && !value.is_null() {
            let kind = wanted["type"].as_str().unwrap_or_default();
            let message = format!("{}: {name} has to be of type {kind}, and is {value}", tool.name);
            let about = wanted["description"].as_str().unwrap_or_default();
            return Err(Problem::new(ProblemKind::Refused, message, about));
        }
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !arguments.contains_key(name) {
            let message = format!("{}: {name} is missing", tool.name);
            let about = known[name]["description"].as_str().unwrap_or_default();
            return Err(Problem::new(ProblemKind::Refused, message, about));
        }
    }
    Ok(())
}

/// The nearest name, or all there are.
fn hint_of(name: &str, known: &[&str], all: &str) -> String {
    match crate::catalog::nearest(name, known) {
        Some(near) => format!("is it {near}?"),
        None => format!("{all} {}", known.join(", ")),
    }
}

/// As many entries from a place on as there is room for, and the place to go on. One for which even a whole answer has no
/// room is cut rather than never told.
fn as_many(entries: &[Value], first: usize, room: usize, whole: usize) -> (Vec<Value>, Option<usize>) {
    let mut shown = Vec::new();
    let mut left = room;
    for (place, entry) in entries.iter().enumerate().skip(first) {
        let bytes = entry.to_string().len() + 1;
        if bytes > left && (bytes <= whole || !shown.is_empty() || room < whole) {
            return (shown, Some(place));
        }
        let mut entry = entry.clone();
        if bytes > left {
            shorten(&mut entry, whole / 16);
        }
        left = left.saturating_sub(bytes);
        shown.push(entry);
    }
    (shown, None)
}

/// Texts of at most so many bytes, and lists of a few entries.
fn shorten(value: &mut Value, most: usize) {
    match value {
        Value::String(text) if text.len() > most => {
            let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            text.truncate(end);
            text.push('…');
        }
        Value::Array(entries) => {
            entries.truncate(8);
            for entry in entries {
                shorten(entry, most / 8);
            }
        }
        Value::Object(fields) => {
            for field in fields.values_mut() {
                shorten(field, most);
            }
        }
        _ => {}
    }
}

/// Remarks on the data, the first of them: a run of many ranks may have hundreds.
fn remarks(quality: &Value) -> Value {
    let all = quality.as_array().map_or(&[][..], Vec::as_slice);
    let (shown, next) = as_many(all, 0, MOST_BYTES / 8, MOST_BYTES / 8);
    match next {
        Some(told) => json!({"first": shown, "not_shown": all.len() - told, "all": "ask the question check"}),
        None => json!(shown),
    }
}

fn text<'a>(arguments: &'a JsonObject, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str)
}

fn number(arguments: &JsonObject, name: &str) -> usize {
    arguments.get(name).and_then(Value::as_u64).unwrap_or(0) as usize
}

fn chosen(arguments: &JsonObject) -> Map<String, Value> {
    arguments.get("options").and_then(Value::as_object).cloned().unwrap_or_default()
}

fn tools() -> Vec<Tool> {
    let run =
        json!({"type": "string", "description": "Id of a run, as `runs` lists it [default: the newest]"});
    let cursor = json!({"type": "integer", "minimum": 0, "description": "next_cursor of the answer before"});
    let options = json!({"type": "object", "description": "Options of the question, as `describe` lists them, such as {\"rank\": 3, \"step\": \"4..6\"}"});
    let table = json!({"type": "string", "description": "Only this table of the answer"});
    let schema = |properties: Value, required: &[&str]| {
        rmcp::model::object(json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        }))
    };
    let tool = |name: &'static str, about: &'static str, properties: Value, required: &[&str]| {
        Tool::new(name, about, schema(properties, required))
            .with_annotations(ToolAnnotations::new().read_only(true).idempotent(true).open_world(false))
    };
    vec![
        tool(
            "runs",
            "The recorded runs, the newest first: name, GPUs, ranks, step time, verdict.",
            json!({"search": {"type": "string", "description": "Only names with this in them"}, "cursor": cursor}),
            &[],
        ),
        tool(
            "analyze",
            "Why a run was slow and what would help: verdict, findings with expected gain, evidence and confidence, remarks on the data.",
            json!({"run": run, "options": options, "cursor": cursor}),
            &[],
        ),
        tool(
            "describe",
            "The questions that can be asked; with `question`, its options.",
            json!({"question": {"type": "string"}}),
            &[],
        ),
        tool(
            "ask",
            "Puts a question (kernels, idle, collectives, ops, memory, critical-path, whatif, …) to a run; the answer is tables.",
            json!({
                "question": {"type": "string", "description": "Its name, as `describe` lists it"},
                "run": run, "options": options, "table": table, "cursor": cursor,
                "with": {"type": "string", "description": "The other run, for a question about two"},
            }),
            &["question"],
        ),
        tool(
            "compare",
            "What changed from one run to another: in a sentence, by figure, step and event name.",
            json!({
                "before": {"type": "string", "description": "Id of the run before"},
                "after": {"type": "string", "description": "Id of the run after"},
                "options": options, "table": table, "cursor": cursor,
            }),
            &["before", "after"],
        ),
    ]
}

/// What to ask of an agent.
struct Task {
    name: &'static str,
    about: &'static str,
    /// Arguments: name, what it is, and what stands in its place if it is not given.
    takes: &'static [(&'static str, &'static str, Option<&'static str>)],
    says: &'static str,
}

const ONE_RUN: &[(&str, &str, Option<&str>)] =
    &[("run", "Id of the run [default: the newest]", Some("newest"))];

const PROMPTS: [Task; 3] = [
    Task {
        name: "why-slow",
        about: "Find out why a run is slow, and what to do first",
        takes: ONE_RUN,
        says: "Analyze the run {run}. Say in one sentence what limits it, then the findings by expected gain with their \
            evidence and confidence. Check the remarks on the data before you trust a number, and say what cannot be known \
            from this recording.",
    },
    Task {
        name: "what-changed",
        about: "Tell why a run is slower or faster than another",
        takes: &[("before", "Id of the run before", None), ("after", "Id of the run after", None)],
        says: "Compare the run {before} (before) with the run {after} (after). If the two are hardly comparable (other GPUs, \
            other shapes), say so first. Say how the step time changed, which cause makes up most of it, and which kernels or \
            operators show it.",
    },
    Task {
        name: "who-holds-up",
        about: "Find the rank that holds the others up",
        takes: ONE_RUN,
        says: "Ask `stragglers` and `collectives` of the run {run}. Which rank comes last, how often, what does it do instead, \
            and how much would a step gain if it were like the median rank (`whatif` with rank_as_median)?",
    },
];

impl ServerHandler for Mcp {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        ServerConfig::new(can)
            .with_server_info(
                Implementation::new("gpuscope", env!("CARGO_PKG_VERSION")).with_title("gpuscope"),
            )
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let result = match self.reached(&context).call(&request.name, &arguments).await {
            Ok(value) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(value.to_string())]);
                result.structured_content = Some(value);
                result
            }
            Err(problem) => {
                let hint = problem.hint.map(|hint| format!("\n{hint}")).unwrap_or_default();
                let said = format!("{}{hint}", problem.messages.join("\n"));
                CallToolResult::error(vec![ContentBlock::text(said)])
            }
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let all = Resource::new("gpuscope://runs", "runs")
            .with_description("The recorded runs")
            .with_mime_type("application/json");
        let report = |run: crate::index::Run| {
            Resource::new(format!("gpuscope://runs/{}", run.id), run.source.name)
                .with_description("Verdict and findings")
                .with_mime_type("application/json")
        };
        let runs = self.shared.index.runs().into_iter().take(100).map(report);
        Ok(ListResourcesResult::with_all_items(std::iter::once(all).chain(runs).collect()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let reached = self.reached(&context);
        let told = match request.uri.strip_prefix("gpuscope://runs") {
            Some("") => Ok(reached.runs(&JsonObject::new())),
            Some(run) => {
                let run = run.trim_start_matches('/').to_owned();
                reached.analyze(&rmcp::model::object(json!({"run": run}))).await
            }
            None => Err(Problem::new(
                ProblemKind::Missing,
                "there is no such resource",
                "gpuscope://runs lists all",
            )),
        };
        let told =
            told.map_err(|problem| ErrorData::resource_not_found(problem.messages.join("; "), None))?;
        let contents =
            ResourceContents::text(told.to_string(), request.uri).with_mime_type("application/json");
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let argument = |(name, about, otherwise): &(&str, &str, Option<&str>)| {
            PromptArgument::new(*name).with_description(*about).with_required(otherwise.is_none())
        };
        let prompt = |task: &Task| {
            Prompt::new(task.name, Some(task.about), Some(task.takes.iter().map(argument).collect()))
        };
        Ok(ListPromptsResult::with_all_items(PROMPTS.iter().map(prompt).collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let task = PROMPTS.iter().find(|task| task.name == request.name);
        let task = task
            .ok_or_else(|| ErrorData::invalid_params(format!("there is no prompt {}", request.name), None))?;
        let said = said(task, &request.arguments.unwrap_or_default())
            .map_err(|missing| ErrorData::invalid_params(missing, None))?;
        let message = PromptMessage::new_text(Role::User, said);
        Ok(GetPromptResult::new(vec![message]).with_description(task.about).into())
    }
}

/// What a task says of these runs, or which of them is missing.
fn said(task: &Task, given: &JsonObject) -> Result<String, String> {
    let mut said = task.says.to_owned();
    for (name, about, otherwise) in task.takes {
        let value = given.get(*name).and_then(Value::as_str).or(*otherwise);
        let value = value.ok_or_else(|| format!("{}: {name} is missing: {about}", task.name))?;
        said = said.replace(&format!("{{{name}}}"), value);
    }
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_told_once_and_none_stops_the_rest() {
        let long = "x".repeat(10_000);
        let entries: Vec<Value> =
            (0..50).map(|i| if i == 20 { json!([i, long]) } else { json!([i, "y"]) }).collect();
        let (mut told, mut first) = (Vec::new(), Some(0));
        while let Some(place) = first {
            let (shown, next) = as_many(&entries, place, 200, 200);
            assert!(!shown.is_empty() && json!(shown).to_string().len() < 300, "{shown:?}");
            told.extend(shown.iter().map(|entry| entry[0].as_u64().unwrap()));
            first = next;
        }
        assert_eq!(told, (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn links_lead_where_the_request_came_to() {
        let address = |host: &str, names: &[&str], base: &str| {
            let request = axum::http::Request::builder().header("host", host).body(()).unwrap();
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            address_of(&request.into_parts().0, &names, base).unwrap()
        };
        assert_eq!(address("gpu-7:6970", &[], ""), "http://gpu-7:6970/");
        assert_eq!(address("127.0.0.1:6970", &["gpu.example.org"], "/gpu"), "http://gpu.example.org/gpu/");
        assert_eq!(
            address("b.example.org:81", &["a.example.org", "b.example.org"], ""),
            "http://b.example.org:81/"
        );
    }

    #[test]
    fn a_task_about_two_runs_names_both() {
        let two = PROMPTS.iter().find(|task| task.name == "what-changed").unwrap();
        let given = rmcp::model::object(json!({"before": "old", "after": "new"}));
        let told = said(two, &given).unwrap();
        assert!(told.contains("run old (before)") && told.contains("run new (after)"), "{told}");
        assert!(
            said(two, &rmcp::model::object(json!({"before": "old"})))
                .unwrap_err()
                .contains("after is missing")
        );
        assert!(said(&PROMPTS[0], &JsonObject::new()).unwrap().contains("the run newest"));
    }

    #[test]
    fn many_remarks_are_counted() {
        let many: Vec<Value> =
            (0..1_000).map(|i| json!({"message": format!("remark {i} {}", "z".repeat(50))})).collect();
        let told = remarks(&json!(many));
        let shown = told["first"].as_array().unwrap().len();
        assert_eq!(told["not_shown"], 1_000 - shown);
        assert_eq!(remarks(&json!(many[..2])), json!(many[..2]));
    }
}
