//! The answer as tables.

use gpuscope_table::{Table, Tabular, Unit};

use super::{Break, CompileAnswer, Frame, RankSummary, Recompile};

impl Tabular for CompileAnswer {
    fn tables(&self) -> Vec<Table> {
        vec![
            ranks(&self.ranks),
            phases(self),
            frames(&self.frames),
            breaks(&self.breaks),
            recompiles(&self.recompiles),
            recommendations(&self.recommendations),
            timed(self),
        ]
    }
}

fn ranks(rows: &[RankSummary]) -> Table {
    Table::of("ranks", "Compilations by rank", rows)
        .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
        .text("torch_version", "The version of torch that wrote the log", |r| r.torch_version.clone())
        .for_files()
        .int("compilations", Unit::Count, "Frames compiled, every time they were", |r| r.compilations as i64)
        .int("failed", Unit::Count, "Of these, without success", |r| r.failed as i64)
        .int("compile_ns", Unit::Ns, "Time spent on it", |r| r.compile_ns.0)
        .int("graph_breaks", Unit::Count, "Places where graphs broke", |r| r.graph_breaks as i64)
        .int("recompiles", Unit::Count, "Compilations of a frame after its first", |r| r.recompiles as i64)
        .int("ops_before_fusion", Unit::Count, "Operators in the graphs that became kernels", |r| {
            r.ops_before_fusion as i64
        })
        .int("ops_after_fusion", Unit::Count, "Launches in the code made from them", |r| {
            r.ops_after_fusion as i64
        })
        .float("fusion_ratio", Unit::Ratio, "Operators for each launch", |r| r.fusion_ratio)
        .int("cache_hits", Unit::Count, "Graphs whose code was in inductor's cache", |r| r.cache_hits as i64)
        .int("cache_misses", Unit::Count, "Graphs whose code was not", |r| r.cache_misses as i64)
        .int("cache_bypasses", Unit::Count, "Graphs that the cache cannot hold", |r| r.cache_bypasses as i64)
        .for_files()
        .build()
}

fn frames(rows: &[Frame]) -> Table {
    Table::of("frames", "Frames compiled", rows)
        .int("rank", Unit::None, "The rank", |f| i64::from(f.rank))
        .text("compile_id", "Number of the frame / of its compilation", |f| f.compile_id.clone())
        .text("function", "The function", |f| f.function.clone())
        .text("file", "Where it is written", |f| f.file.clone())
        .int("line", Unit::None, "The line it begins on", |f| f.line)
        .text("status", "compiled, failed or unfinished", |f| f.status.label().to_owned())
        .int("attempts", Unit::Count, "Analyses of the frame: one more for every restart", |f| {
            i64::from(f.attempts)
        })
        .for_files()
        .int("compile_ns", Unit::Ns, "Time spent on it, all phases", |f| f.compile_ns.0)
        .int("dynamo_ns", Unit::Ns, "Following the bytecode, and guards", |f| f.times.dynamo_ns.0)
        .for_files()
        .int("aot_ns", Unit::Ns, "Tracing forward and backward graphs", |f| f.times.aot_ns.0)
        .for_files()
        .int("inductor_ns", Unit::Ns, "Passes over graphs, lowering", |f| f.times.inductor_ns.0)
        .for_files()
        .int("codegen_ns", Unit::Ns, "Scheduling, fusing and writing code", |f| f.times.codegen_ns.0)
        .for_files()
        .int("kernels_ns", Unit::Ns, "Compilers of C++ and Triton, loading what they made", |f| {
            f.times.kernels_ns.0
        })
        .for_files()
        .int("autotune_ns", Unit::Ns, "Trying kernels out", |f| f.times.autotune_ns.0)
        .for_files()
        .int("other_ns", Unit::Ns, "In no phase known here", |f| f.times.other_ns.0)
        .for_files()
        .int("graph_breaks", Unit::Count, "Graph breaks met", |f| f.graph_breaks as i64)
        .int("guards", Unit::Count, "What is checked before the code may be used", |f| f.guards)
        .for_files()
        .int("ops_captured", Unit::Count, "Operators of the graph as the program is written", |f| {
            f.ops_captured as i64
        })
        .for_files()
        .int("ops_before_fusion", Unit::Count, "Operators in the graphs that became kernels", |f| {
            f.ops_before_fusion as i64
        })
        .int("views", Unit::Count, "Views in these graphs, which launch nothing", |f| f.views as i64)
        .for_files()
        .int("ops_after_fusion", Unit::Count, "Launches in the code made from them", |f| {
            f.ops_after_fusion.map(|n| n as i64)
        })
        .float("fusion_ratio", Unit::Ratio, "Operators for each launch", |f| f.fusion_ratio)
        .int("cache_hits", Unit::Count, "Graphs whose code was in inductor's cache", |f| f.cache_hits as i64)
        .for_files()
        .int("cache_misses", Unit::Count, "Graphs whose code was not", |f| f.cache_misses as i64)
        .for_files()
        .text("fail_reason", "Why it failed", |f| f.fail_reason.clone())
        .for_files()
        .text("called_from", "The program's lines that led here", |f| stack(&f.called_from))
        .for_files()
        .build()
}

fn breaks(rows: &[Break]) -> Table {
    Table::of("breaks", "Graph breaks", rows)
        .int("rank", Unit::None, "The rank", |b| i64::from(b.rank))
        .text("file", "Where", |b| b.file.clone())
        .int("line", Unit::None, "The line", |b| b.line)
        .int("count", Unit::Count, "Compilations that broke there", |b| b.count as i64)
        .text("reason", "What the compiler could not follow", |b| b.reason.clone())
        .text("function", "The function", |b| b.function.clone())
        .for_files()
        .text("suggestion", "What to do about it", |b| b.suggestion.clone())
        .text("explanation", "More about the reason", |b| b.explanation.clone())
        .for_files()
        .text("compile_ids", "The compilations", |b| b.compile_ids.join(" "))
        .for_files()
        .text("user_stack", "The program's lines that led there", |b| stack(&b.user_stack))
        .for_files()
        .build()
}

fn recompiles(rows: &[Recompile]) -> Table {
    Table::of("recompiles", "Recompilations", rows)
        .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
        .text("compile_id", "Number of the frame / of its compilation", |r| r.compile_id.clone())
        .text("function", "The function", |r| r.function.clone())
        .text("file", "Where it is written", |r| r.file.clone())
        .for_files()
        .int("line", Unit::None, "The line it begins on", |r| r.line)
        .for_files()
        .text("change", "What was not as before", |r| r.change.label().to_owned())
        .text("reason", "The guard that failed", |r| r.reason.clone())
        .text("instead_of", "The compilation that could not be used", |r| r.instead_of.clone())
        .int("compile_ns", Unit::Ns, "Time spent on compiling again", |r| r.compile_ns.0)
        .text("suggestion", "What to do about it", |r| r.suggestion.clone())
        .for_files()
        .build()
}

fn phases(answer: &CompileAnswer) -> Table {
    Table::of("phases", "Compile time by phase", &answer.phases)
        .int("rank", Unit::None, "The rank", |p| i64::from(p.rank))
        .text("phase", "Of compiling", |p| p.phase.label().to_owned())
        .int("time_ns", Unit::Ns, "Time in it on the compiling thread", |p| p.time_ns.0)
        .float("pct", Unit::Percent, "Of the rank's compile time", |p| p.pct)
        .build()
}

fn timed(answer: &CompileAnswer) -> Table {
    Table::of("timed", "What torch times while it compiles", &answer.timed)
        .int("rank", Unit::None, "The rank", |t| i64::from(t.rank))
        .text("name", "As torch calls it", |t| t.name.clone())
        .text("phase", "The phase it belongs to", |t| t.phase.label().to_owned())
        .int("count", Unit::Count, "How often", |t| t.count as i64)
        .int("total_ns", Unit::Ns, "Time in all of them", |t| t.total_ns.0)
        .int("own_ns", Unit::Ns, "Less what is timed inside; empty on helping threads", |t| {
            t.own_ns.map(|own| own.0)
        })
        .build()
}

fn recommendations(rows: &[String]) -> Table {
    Table::of("recommendations", "What to do", rows)
        .text("recommendation", "In words, most telling first", String::clone)
        .build()
}

fn stack(lines: &[String]) -> Option<String> {
    (!lines.is_empty()).then(|| lines.join(" > "))
}
