//! The catalogue of questions: clap's definition of the command line, read by programs. Every other door than the shell asks
//! by it, so that a question and its options are named, typed and explained in one place.

use std::any::TypeId;
use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, Command};
use gpuscope_server::catalog::{Kind, Opt, Question, nearest};
use serde_json::{Map, Value};

use crate::exit::Failure;
use crate::session::Refusal;

/// What every command has whose answers can be asked for by a program: traces, and a place for the answer that may be
/// left out.
const TRACES: &str = "traces";
const OUTPUT: &str = "output";
/// Logs of torch.compile in the place of traces.
const LOGS: &str = "logs";
/// Compares two runs.
const OF_TWO: &str = "diff";

/// All questions, in the order of the command line's help.
pub fn questions() -> Vec<Question> {
    crate::command().get_subcommands().filter(|command| is_question(command)).map(question).collect()
}

/// Whether a command answers and does nothing else.
pub(crate) fn is_question(command: &Command) -> bool {
    let has = |id: &str| command.get_arguments().find(|arg| arg.get_id() == id);
    let is_about_traces = has(TRACES).or_else(|| has(LOGS)).is_some();
    is_about_traces && has(OUTPUT).is_some_and(|output| !output.is_required_set())
}

fn question(command: &Command) -> Question {
    let is_own = |arg: &&Arg| {
        let id = arg.get_id().as_str();
        ![TRACES, LOGS, "help", "version"].contains(&id) && !arg.is_hide_set()
    };
    Question {
        name: command.get_name().to_owned(),
        about: command.get_about().map(ToString::to_string).unwrap_or_default(),
        runs: if command.get_name() == OF_TWO { 2 } else { 1 },
        options: command.get_arguments().filter(is_own).map(|arg| of_question(command, arg)).collect(),
    }
}

/// A chart has to be named: the list of charts, for which it is left out, is no answer about a run.
fn of_question(command: &Command, arg: &Arg) -> Opt {
    let option = option(arg);
    let is_chart = command.get_name() == "plot" && arg.get_id() == "name";
    Opt { required: option.required || is_chart, ..option }
}

fn option(arg: &Arg) -> Opt {
    let name = arg.get_long().unwrap_or(arg.get_id().as_str()).replace('-', "_");
    let parser = arg.get_value_parser();
    let kind = kind(arg, parser);
    let choices = match kind {
        Kind::Flag => Vec::new(),
        _ => arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect(),
    };
    let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    Opt {
        flag: arg.get_long().map(|long| format!("--{long}")),
        help: arg.get_help().map(ToString::to_string).unwrap_or_default(),
        kind,
        choices,
        many: matches!(arg.get_action(), ArgAction::Append),
        required: arg.is_required_set(),
        default: (kind != Kind::Flag && !defaults.is_empty()).then(|| defaults.join(",")),
        unit: unit(&name),
        for_files: is_for_files(arg),
        name,
    }
}

fn kind(arg: &Arg, parser: &ValueParser) -> Kind {
    let is = |types: &[TypeId]| types.iter().any(|wanted| parser.type_id() == *wanted);
    match arg.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse | ArgAction::Count => Kind::Flag,
        _ if is(&[TypeId::of::<f64>(), TypeId::of::<f32>()]) => Kind::Float,
        _ if is(&[
            TypeId::of::<u16>(),
            TypeId::of::<u32>(),
            TypeId::of::<u64>(),
            TypeId::of::<usize>(),
            TypeId::of::<i32>(),
            TypeId::of::<i64>(),
        ]) =>
        {
            Kind::Integer
        }
        _ => Kind::Text,
    }
}

/// Names say the unit of what they hold.
fn unit(name: &str) -> Option<&'static str> {
    let units = [("_us", "us"), ("_ns", "ns"), ("_bytes", "bytes")];
    units.iter().find(|(end, _)| name.ends_with(end)).map(|(_, unit)| *unit)
}

/// It names a file, says how files are read or where an answer goes. A program that asks about open runs has no use for it.
pub(crate) fn is_for_files(arg: &Arg) -> bool {
    // Which of an answer's tables is no matter of files.
    if arg.get_id() == "table" {
        return false;
    }
    // Text for other programs, whatever the server says that it sends.
    if arg.get_id() == "format" {
        return true;
    }
    let is_path = arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    is_path || matches!(arg.get_help_heading(), Some("Reading" | "Output"))
}

/// A question with its options as the words of a command line; `runs` are the names of open runs.
pub fn words(
    question: &Question,
    runs: &[&str],
    options: &Map<String, Value>,
) -> Result<Vec<String>, Refusal> {
    worded(question, runs, options).map_err(|failure| Refusal::of(&failure))
}

fn worded(question: &Question, runs: &[&str], options: &Map<String, Value>) -> Result<Vec<String>, Failure> {
    let (mut flags, mut places) = (vec![question.name.clone()], Vec::new());
    for (name, value) in options {
        let option = question.option(name).filter(|option| !option.for_files);
        let option = option.ok_or_else(|| unknown(question, name))?;
        let values = match value {
            Value::Array(values) if option.many => values.as_slice(),
            other => std::slice::from_ref(other),
        };
        for value in values {
            match (&option.flag, text(value)) {
                (_, None) => {}
                (Some(flag), Some(text)) if option.kind == Kind::Flag => match text.as_str() {
                    "" | "true" | "1" => flags.push(flag.clone()),
                    "false" | "0" => {}
                    other => return Err(no_switch(question, name, other)),
                },
                (Some(flag), Some(text)) => flags.push(format!("{flag}={text}")),
                (None, Some(text)) => places.push(text),
            }
        }
    }
    let is_given = |option: &&Opt| options.get(&option.name).and_then(text).is_some();
    if let Some(missing) = question.options.iter().find(|option| option.required && !is_given(option)) {
        let message = format!("{}: {} is missing", question.name, missing.name);
        return Err(Failure::usage(message, &missing.help));
    }
    flags.push("--".to_owned());
    flags.extend(places);
    flags.extend(runs.iter().map(|run| (*run).to_owned()));
    Ok(flags)
}

/// A range of two numbers may be a list; what is null is not given.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(range) => {
            let ends: Vec<String> = range.iter().filter_map(text).collect();
            Some(ends.join(".."))
        }
        other => Some(other.to_string()),
    }
}

fn no_switch(question: &Question, name: &str, value: &str) -> Failure {
    Failure::usage(format!("{}: {name} is {value}", question.name), &format!("{name} takes true or false"))
}

fn unknown(question: &Question, name: &str) -> Failure {
    let known: Vec<&str> = question
        .options
        .iter()
        .filter(|option| !option.for_files)
        .map(|option| option.name.as_str())
        .collect();
    let hint = match nearest(name, &known) {
        Some(near) => format!("is it {near}?"),
        None => format!("its options are {}", known.join(", ")),
    };
    Failure::usage(format!("{}: there is no option {name}", question.name), &hint)
}
