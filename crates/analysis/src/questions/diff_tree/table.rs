//! The tables of `diff --tree`.

use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::Ns;

use super::{OperatorChange, Part, PathChange, TreeDiffAnswer, WHOLE};
use crate::shared::text::time;

const OF_CHANGE: &str = "Of the change of the whole; of the larger whole if that did not change";
const WHY: &str = "More or less to do, done at another speed, or by other kernels";

impl Tabular for TreeDiffAnswer {
    fn tables(&self) -> Vec<Table> {
        let wholes = [(self.a_ns, self.b_ns, self.delta_ns)];
        let whole = Table::of("whole", "GPU time, added up", &wholes)
            .int("a_ns", Unit::Ns, "In A", |w| w.0.0)
            .int("b_ns", Unit::Ns, "In B", |w| w.1.0)
            .int("delta_ns", Unit::Ns, "B less A", |w| w.2.0)
            .build();
        let base = self.base();
        let rows = Table::of("rows", format!("Where the change comes from, B less A; {base}"), &self.rows)
            .int("delta_ns", Unit::Ns, "GPU time of B less that of A", |r| r.delta_ns.0)
            .float("of_change_pct", Unit::Percent, OF_CHANGE, |r| r.change_pct)
            .int("a_ns", Unit::Ns, "GPU time in A", |r| r.a.gpu_ns.0)
            .int("b_ns", Unit::Ns, "GPU time in B", |r| r.b.gpu_ns.0)
            .int("a_count", Unit::Count, "GPU events in A", |r| r.a.count as i64)
            .int("b_count", Unit::Count, "GPU events in B", |r| r.b.count as i64)
            .float("a_gflops", Unit::Gigaflops, "Operations in A", |r| r.a.gflops)
            .float("b_gflops", Unit::Gigaflops, "Operations in B", |r| r.b.gflops)
            .text("why", WHY, |r| r.why.label().to_owned())
            .text("path", "Modules, operators and arguments, from the inside out", |r| inside_out(&r.path))
            .build();
        let parts: Vec<(&PathChange, &str, &Part)> = self
            .rows
            .iter()
            .flat_map(|row| {
                let of_a = row.a.parts.iter().map(move |part| (row, "a", part));
                of_a.chain(row.b.parts.iter().map(move |part| (row, "b", part)))
            })
            .collect();
        let parts = Table::of("parts", "What ran there", &parts)
            .text("run", "A or B", |p| p.1.to_owned())
            .int("gpu_ns", Unit::Ns, "GPU time", |p| p.2.gpu_ns.0)
            .text("name", "A kernel, or a call that only this run has", |p| p.2.name.clone())
            .text("path", "Modules, operators and arguments, from the inside out", |p| inside_out(&p.0.path))
            .build();
        vec![whole, operators(&self.operators, &base), rows, parts]
    }
}

impl TreeDiffAnswer {
    /// What the per cent of rows are of.
    fn base(&self) -> String {
        match self.delta_ns {
            Ns::ZERO => format!("% of the GPU time, {}", time(self.a_ns.max(self.b_ns))),
            delta => format!("% of the whole change, {}", time(delta)),
        }
    }
}

fn operators(operators: &[OperatorChange], base: &str) -> Table {
    let title = format!("What changed, wherever in the model it is, B less A; {base}");
    Table::of("operators", title, operators)
        .int("delta_ns", Unit::Ns, "GPU time of B less that of A", |o| o.delta_ns.0)
        .float("of_change_pct", Unit::Percent, OF_CHANGE, |o| o.change_pct)
        .int("a_ns", Unit::Ns, "GPU time in A", |o| o.a_ns.0)
        .int("b_ns", Unit::Ns, "GPU time in B", |o| o.b_ns.0)
        .int("a_count", Unit::Count, "GPU events in A", |o| o.a_count as i64)
        .int("b_count", Unit::Count, "GPU events in B", |o| o.b_count as i64)
        .float("a_gflops", Unit::Gigaflops, "Operations in A", |o| o.a_gflops)
        .float("b_gflops", Unit::Gigaflops, "Operations in B", |o| o.b_gflops)
        .text("why", WHY, |o| o.why.label().to_owned())
        .int("paths", Unit::Count, "Paths that end there", |o| o.paths as i64)
        .text("name", "An operator with its arguments, or a module", |o| o.name.clone())
        .build()
}

/// What tells most comes first, as the end of a line is cut where there is no room.
fn inside_out(path: &[String]) -> String {
    if path.is_empty() {
        return WHOLE.to_owned();
    }
    path.iter().rev().map(String::as_str).collect::<Vec<_>>().join(" < ")
}
