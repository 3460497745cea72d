//! `docs/columns.md` is what the tables say of themselves. `cargo xtask columns` writes it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use gpuscope_testkit::text::trace;
use gpuscope_testkit::{Compression, Plan, write_job};

use crate::export::parsed;
use crate::support::Folder;

/// Set by `cargo xtask columns`.
const WRITE: &str = "GPUSCOPE_WRITE_COLUMNS";

const HEAD: &str = "\
# Columns

Every table of every command, as `--table`, `--csv`, `-o FILE.xlsx`, `-o FILE.parquet` and `-o FOLDER/` name them. `gpuscope \
COMMAND TRACES --explain` says the same for one answer. Some columns and tables are there only if the traces have what \
they need. JSON (`--json`) has the same fields and more.

This file is generated: `cargo xtask columns` writes it anew.
";

/// Commands that show no tables, or are asked with arguments of their own.
const WITHOUT: [&str; 11] = [
    "convert",
    "demo",
    "plot",
    "view",
    "serve",
    "mcp",
    "completions",
    "limits",
    "bench run",
    "history add",
    "history prune",
];

/// Jobs that together have something for every table.
fn jobs() -> Folder {
    let folder = Folder::new();
    let plan = Plan::small().ranks(8).layers(4).pipeline(2, 3).tensor_parallel(2).with_straggler(1, 130);
    write_job(&plan, &folder.path("job"), Compression::None).expect("written");
    let some = Plan::small().ranks(3).with_missing_straggler(2, 150).with_profiler_overhead(500_000);
    write_job(&some, &folder.path("some"), Compression::None).expect("written");
    let serving = trace()
        .annotation("execute_context_1(8)_generation_0(0)", 0..100_000)
        .kernel("gemm", 10_000..40_000)
        .launched_at(1_000..2_000);
    folder.write("serve/rank0.json", serving.to_json());
    folder.write("logs/rank0.log", crate::compile::log());
    for (nth, mean) in [(1, 1.0), (2, 2.0)] {
        folder.write(&format!("run{nth}.json"), crate::bench::measured(&format!("run{nth}"), nth, mean));
    }
    let add = ["history", "add", "@run1.json", "@run2.json", "--db", "@history.db", "--project", "p"];
    assert_eq!(folder.run(&add).exit, 0);
    folder
}

/// How to ask a command, so that it has all it can say.
fn asked(command: &str) -> Vec<Vec<&str>> {
    match command {
        "diff" => vec![
            vec!["diff", "@job", "@some", "--fail-on", "busy > +1%"],
            vec!["diff", "@job", "@some", "--tree"],
        ],
        "throughput" => {
            vec![vec!["throughput", "@job", "--tokens-per-step", "1", "--samples-per-step", "1"]]
        }
        "whatif" => vec![vec!["whatif", "@job", "--no-launch-overhead"]],
        "breakdown" => vec![vec!["breakdown", "@job", "--micro-idle-us", "5"]],
        "queue" | "bandwidth" | "memory" => vec![vec![command, "@job", "--series"]],
        "annotations" => vec![vec!["annotations", "@job", "--kernels"]],
        "critical-path" => vec![vec!["critical-path", "@job", "--rank", "0"]],
        "compile" => vec![vec!["compile", "@logs"]],
        "bench report" => vec![vec!["bench", "report", "@run1.json"]],
        "bench compare" => vec![vec!["bench", "compare", "@run1.json", "@run2.json"]],
        "bench gate" => vec![vec!["bench", "gate", "--db", "@history.db", "--project", "p"]],
        "history show" => vec![vec!["history", "show", "2", "--db", "@history.db"]],
        "history list" => vec![vec!["history", "list", "--db", "@history.db", "--project", "p"]],
        "history trend" => vec![vec!["history", "trend", "--db", "@history.db", "--project", "p"]],
        _ => ["@job", "@some", "@serve"].map(|traces| vec![command, traces]).to_vec(),
    }
}

/// Every command that shows tables: `kernels`, `bench report`.
pub(crate) fn commands() -> Vec<String> {
    let named = |command: &clap::Command| {
        let name = command.get_name().to_owned();
        let below: Vec<String> =
            command.get_subcommands().map(|below| format!("{name} {}", below.get_name())).collect();
        if below.is_empty() { vec![name] } else { below }
    };
    let all: Vec<String> = gpuscope_cli::command().get_subcommands().flat_map(named).collect();
    all.into_iter().filter(|name| !WITHOUT.contains(&name.as_str())).collect()
}

fn document() -> String {
    let folder = jobs();
    let mut text = HEAD.to_owned();
    for command in commands() {
        let command = command.as_str();
        // Tables in the order of the answer, each column once.
        let mut order: Vec<String> = Vec::new();
        let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for mut arguments in asked(command) {
            arguments.extend(["--explain", "--csv"]);
            let ran = folder.run(&arguments);
            assert!(ran.exit < 2, "{command}: {}", ran.err);
            for row in parsed(&ran.out).into_iter().skip(1) {
                let [table, column, unit, meaning] = row.as_slice() else { panic!("{row:?}") };
                if !order.contains(table) {
                    order.push(table.clone());
                }
                let rows = tables.entry(table.clone()).or_default();
                let line = format!("`{column}` | {unit} | {}", meaning.replace('|', "\\|"));
                if !rows.contains(&line) {
                    rows.push(line);
                }
            }
        }
        write!(text, "\n## {command}\n").expect("memory");
        for table in order {
            let rows = tables[&table].join(" |\n| ");
            write!(text, "\n### {table}\n\n| column | unit | meaning |\n|---|---|---|\n| {rows} |\n")
                .expect("memory");
        }
    }
    text
}

#[test]
fn the_document_says_what_the_tables_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/columns.md");
    let now = document();
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &now).expect("written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == now, "docs/columns.md is out of date: cargo xtask columns writes it anew");
}
