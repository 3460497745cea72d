//! Operators as tables.

use gpuscope_table::{Table, TableBuilder, Tabular, Unit};

use super::{
    Arguments, Bin, By, CategoryRow, KernelOfOp, Literal, OpRow, OpsAnswer, PrecisionFlops, RankOps,
    RankUtilisation, ShortRow, WorkOfOp,
};

impl Tabular for OpsAnswer {
    fn tables(&self) -> Vec<Table> {
        let mut tables = Vec::new();
        if self.by != By::Category {
            tables.push(ops(&self.ops));
            tables.extend(kernels(&self.ops));
        }
        tables.push(categories(&self.categories));
        if let Some(short) = &self.short_kernels {
            tables.push(short_kernels(&short.rows));
            tables.push(histogram(&short.histogram));
        }
        if self.mfu.all.hardware_flops > 0 || self.mfu.all.tokens_per_s.is_some() {
            tables.push(utilisation(&self.mfu.ranks));
            tables.push(precisions(&self.mfu.by_precision));
        }
        tables.push(ranks(&self.ranks));
        tables
    }
}

fn ops<'r>(rows: &'r [OpRow]) -> Table {
    let has = |is: fn(&OpRow) -> bool| rows.iter().any(is);
    let by_arguments = has(|row| row.arguments.is_some());
    let table = Table::of("ops", "Operators by GPU time", rows)
        .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
        .text("category", "What sort of operator it is", |r| r.category.clone());
    // Arguments need the room.
    let unless = |table: TableBuilder<'r, OpRow>| if by_arguments { table.for_files() } else { table };
    let table = unless(table).int("count", Unit::Count, "Calls", |r| r.count as i64).int(
        "direct_kernel_ns",
        Unit::Ns,
        "GPU time straight under it, united per call",
        |r| r.direct_kernel_ns.0,
    );
    // Where there is no room for all numbers the last are left out.
    let table = unless(table)
        .float("pct", Unit::Percent, "Of the direct time of the rank", |r| r.pct)
        .when(by_arguments, subtree)
        .when(has(|row| row.overlap.is_some()), |table| {
            table
                .int("overlap_ns", Unit::Ns, "Direct time during which another stream was busy too", |r| {
                    r.overlap.map(|overlap| overlap.overlap_ns.0)
                })
                .float("overlap_pct", Unit::Percent, "Of the direct time", |r| {
                    r.overlap.map(|overlap| overlap.overlap_pct)
                })
        })
        .when(by_arguments, |table| bound(work_of_one_call(rates(table))))
        .when(!by_arguments, |table| subtree(bound(rates(table).for_files()).for_files()))
        .when(has(|row| row.recompute.is_some()), |table| {
            table.text("recompute", "Whether activation checkpointing ran it again", |r| {
                r.recompute.map(|again| if again { "again" } else { "first" }.to_owned())
            })
        })
        .text("name", "The operator", |r| r.name.clone());
    if by_arguments { arguments(table.for_files()).build() } else { table.build() }
}

fn subtree(table: TableBuilder<'_, OpRow>) -> TableBuilder<'_, OpRow> {
    table.int("subtree_kernel_ns", Unit::Ns, "GPU time anywhere below it, united per call", |r| {
        r.subtree_kernel_ns.0
    })
}

/// One short text for people, and all four for files.
fn arguments(table: TableBuilder<'_, OpRow>) -> TableBuilder<'_, OpRow> {
    fn of(row: &OpRow, field: fn(&Arguments) -> &Option<Literal>) -> Option<String> {
        row.arguments.as_ref().and_then(|arguments| field(arguments).as_ref()).map(ToString::to_string)
    }
    table
        .text("call", "The operator, and shapes and types of its tensors", |r| {
            Some(format!("{} {}", r.name, r.arguments.as_ref().map(brief)?).trim_end().to_owned())
        })
        .text("input_dims", "Shapes, as in the trace", |r| of(r, |arguments| &arguments.input_dims))
        .for_files()
        .text("input_types", "Types, as in the trace", |r| of(r, |arguments| &arguments.input_types))
        .for_files()
        .text("input_strides", "Strides, as in the trace", |r| of(r, |arguments| &arguments.input_strides))
        .for_files()
        .text("concrete_inputs", "Values, as in the trace", |r| of(r, |arguments| &arguments.concrete_inputs))
        .for_files()
}

fn of_work<T>(row: &OpRow, field: fn(&WorkOfOp) -> Option<T>) -> Option<T> {
    row.work.as_ref().and_then(field)
}

fn rates(table: TableBuilder<'_, OpRow>) -> TableBuilder<'_, OpRow> {
    table
        .float("pct_roofline", Unit::Percent, "The time it would take at best, of the time it took", |r| {
            of_work(r, |work| work.pct_roofline)
        })
        .float("tflops_per_s", Unit::TeraflopsPerSecond, "Operations per second of GPU time", |r| {
            of_work(r, |work| work.tflops_per_s)
        })
        .float("flops_per_byte", Unit::Ratio, "Operations per byte moved", |r| {
            of_work(r, |work| work.flops_per_byte)
        })
        .for_files()
        .float("tb_per_s", Unit::TerabytesPerSecond, "Bytes per second of GPU time", |r| {
            of_work(r, |work| work.tb_per_s)
        })
}

fn bound(table: TableBuilder<'_, OpRow>) -> TableBuilder<'_, OpRow> {
    table.text("bound", "What limits it at best on this GPU", |r| {
        of_work(r, |work| work.bound).map(|bound| bound.label().to_owned())
    })
}

fn work_of_one_call(table: TableBuilder<'_, OpRow>) -> TableBuilder<'_, OpRow> {
    table
        .float("gflops", Unit::Gigaflops, "Operations of one call", |r| of_work(r, |work| work.gflops))
        .int("data_moved_bytes", Unit::Bytes, "Every operand and result of one call once", |r| {
            of_work(r, |work| work.data_moved_bytes).and_then(|bytes| i64::try_from(bytes).ok())
        })
        .for_files()
        .text("precision", "The number format of the operations", |r| {
            of_work(r, |work| work.precision).map(str::to_owned)
        })
        .for_files()
        .text("sizes", "The sizes that the work follows from", |r| of_work(r, |work| work.sizes.clone()))
        .for_files()
}

fn kernels(ops: &[OpRow]) -> Option<Table> {
    let rows: Vec<(&OpRow, &KernelOfOp)> =
        ops.iter().flat_map(|op| op.kernels.iter().flatten().map(move |kernel| (op, kernel))).collect();
    let table = Table::of("kernels", "What the operators ran", &rows)
        .int("rank", Unit::None, "The rank", |(op, _)| i64::from(op.rank))
        .text("category", "What sort of operator it is", |(op, _)| op.category.clone())
        .for_files()
        .text("op", "The operator", |(op, _)| op.name.clone())
        .int("stream", Unit::None, "The stream", |(_, k)| k.stream)
        .int("count", Unit::Count, "Launches", |(_, k)| k.count as i64)
        .int("sum_ns", Unit::Ns, "Sum of the durations", |(_, k)| k.sum_ns.0)
        .float("mean_ns", Unit::Ns, "Mean duration", |(_, k)| k.mean_ns)
        .int("median_ns", Unit::Ns, "Median duration", |(_, k)| k.median_ns.0)
        .int("min_ns", Unit::Ns, "Shortest duration", |(_, k)| k.min_ns.0)
        .int("max_ns", Unit::Ns, "Longest duration", |(_, k)| k.max_ns.0)
        .float("std_ns", Unit::Ns, "Sample standard deviation of the durations", |(_, k)| k.std_ns)
        .for_files()
        .text("launcher", "The call that launched it", |(_, k)| k.launcher.clone())
        .text("name", "The kernel", |(_, k)| k.name.clone())
        .build();
    (!rows.is_empty()).then_some(table)
}

fn categories(rows: &[CategoryRow]) -> Table {
    Table::of("categories", "Sorts of operators", rows)
        .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
        .text("category", "What sort of operator it is", |r| r.category.clone())
        .int("count", Unit::Count, "Calls with GPU events straight under them", |r| r.count as i64)
        .int("direct_kernel_ns", Unit::Ns, "GPU time straight under them", |r| r.direct_kernel_ns.0)
        .float("pct", Unit::Percent, "Of the direct time of the rank", |r| r.pct)
        .build()
}

fn short_kernels(rows: &[ShortRow]) -> Table {
    Table::of("short_kernels", "Short kernels, and what fusing them could save at most", rows)
        .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
        .text("op", "Who launched it", |r| r.op.clone())
        .int("count", Unit::Count, "Launches below the threshold", |r| r.count as i64)
        .int("sum_ns", Unit::Ns, "Sum of their durations", |r| r.sum_ns.0)
        .int(
            "gap_ns",
            Unit::Ns,
            "Idle time of the device right before them, up to the price of a launch",
            |r| r.gap_ns.0,
        )
        .text("kernel", "The kernel", |r| r.kernel.clone())
        .build()
}

fn histogram(rows: &[Bin]) -> Table {
    Table::of("histogram", "Short kernels by duration", rows)
        .int("from_ns", Unit::Ns, "From this duration", |r| r.from_ns.0)
        .int("to_ns", Unit::Ns, "Up to this", |r| r.to_ns.0)
        .int("count", Unit::Count, "GPU events", |r| r.count as i64)
        .int("sum_ns", Unit::Ns, "Sum of their durations", |r| r.sum_ns.0)
        .build()
}

fn utilisation(rows: &[RankUtilisation]) -> Table {
    let share = |row: &RankUtilisation, pct: Option<f64>| {
        pct.map(|pct| format!("{}{pct:.1} %", if row.of.at_least { "≥ " } else { "" }))
    };
    Table::of("mfu", "Use of the GPU's peak", rows)
        .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
        .float("model_gflops", Unit::Gigaflops, "Operations of matrix units in one step", |r| {
            r.of.model_flops as f64 / 1e9
        })
        .float("hardware_gflops", Unit::Gigaflops, "With what activation checkpointing ran again", |r| {
            r.of.hardware_flops as f64 / 1e9
        })
        .int("step_ns", Unit::Ns, "Step time", |r| r.of.step_ns.map(|ns| ns.0))
        .text("mfu", "Time of these operations at the dense peak, of the step time", |r| {
            share(r, r.of.mfu_pct)
        })
        .text("hfu", "With what activation checkpointing ran again", |r| share(r, r.of.hfu_pct))
        .float("coverage_pct", Unit::Percent, "Share of computing time with known work", |r| {
            r.of.coverage_pct
        })
        .float("tokens_per_s", Unit::Count, "Tokens of the rank per second", |r| r.of.tokens_per_s)
        .float("gflops_per_token", Unit::Gigaflops, "Model operations per token", |r| {
            r.of.flops_per_token.map(|flops| flops / 1e9)
        })
        .text("gpu", "Whose peaks were used", |r| r.gpu.clone())
        .build()
}

fn precisions(rows: &[PrecisionFlops]) -> Table {
    Table::of("precisions", "Operations of matrix units in one step by number format", rows)
        .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
        .text("precision", "The number format", |r| r.precision.map(str::to_owned))
        .float("model_gflops", Unit::Gigaflops, "Operations", |r| r.model_flops as f64 / 1e9)
        .float("hardware_gflops", Unit::Gigaflops, "With what activation checkpointing ran again", |r| {
            r.hardware_flops as f64 / 1e9
        })
        .float("peak_tflops_per_s", Unit::TeraflopsPerSecond, "Dense peak of the GPU", |r| {
            r.peak_tflops_per_s
        })
        .build()
}

fn ranks(rows: &[RankOps]) -> Table {
    let any = |count: fn(&RankOps) -> u64| rows.iter().any(|row| count(row) > 0);
    Table::of("ranks", "What the rows speak of", rows)
        .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
        .int("calls", Unit::Count, "Calls with GPU events straight under them", |r| r.calls as i64)
        .int("direct_kernel_ns", Unit::Ns, "GPU time straight under them", |r| r.direct_kernel_ns.0)
        .int("recompute_kernel_ns", Unit::Ns, "Of that, what activation checkpointing ran again", |r| {
            r.recompute_kernel_ns.0
        })
        .float("recompute_pct", Unit::Percent, "Of the direct time", |r| r.recompute_pct)
        .int("unlinked_kernels", Unit::Count, "GPU events that no launch is known for", |r| {
            r.unlinked_kernels as i64
        })
        .int("unlinked_kernel_ns", Unit::Ns, "The sum of their durations", |r| r.unlinked_kernel_ns.0)
        .float("unlinked_pct", Unit::Percent, "Of the durations of all GPU events", |r| r.unlinked_pct)
        .when(any(|row| row.rows_left_out), |table| {
            table
                .int("rows_left_out", Unit::Count, "Rows that --top left out", |r| r.rows_left_out as i64)
                .int("left_out_kernel_ns", Unit::Ns, "Their direct time", |r| r.left_out_kernel_ns.0)
        })
        .when(any(|row| row.recorded_flops_calls), |table| {
            table
                .int(
                    "recorded_flops_calls",
                    Unit::Count,
                    "Calls whose FLOPs the profiler recorded too",
                    |r| r.recorded_flops_calls as i64,
                )
                .int(
                    "recorded_flops_differ",
                    Unit::Count,
                    "Those that differ by more than one percent",
                    |r| r.recorded_flops_differ as i64,
                )
        })
        .build()
}

/// `888×2880 2880×640 bf16`: what tells one row from another at a glance.
fn brief(arguments: &Arguments) -> String {
    let mut words: Vec<String> = Vec::new();
    let dims = arguments.input_dims.as_ref().map_or(&[] as &[Literal], Literal::items);
    words.extend(dims.iter().filter_map(shape));
    let types = arguments.input_types.as_ref().map_or(&[] as &[Literal], Literal::items);
    let mut seen: Vec<&str> = Vec::new();
    for name in types.iter().filter_map(type_name) {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    words.extend(seen.into_iter().map(str::to_owned));
    words.join(" ")
}

fn shape(dims: &Literal) -> Option<String> {
    let sizes: Vec<String> = dims
        .items()
        .iter()
        .filter_map(|size| match size {
            Literal::Int(size) => Some(size.to_string()),
            list => shape(list).map(|shape| format!("({shape})")),
        })
        .collect();
    (!sizes.is_empty()).then(|| sizes.join("×"))
}

fn type_name(name: &Literal) -> Option<&str> {
    let Literal::Text(name) = name else { return None };
    match name.strip_prefix("c10::").unwrap_or(name) {
        "" | "Scalar" | "ScalarList" | "TensorList" | "GenericList" => None,
        "BFloat16" => Some("bf16"),
        "Half" => Some("fp16"),
        "float" => Some("fp32"),
        "double" => Some("fp64"),
        "long int" => Some("int64"),
        other => Some(other),
    }
}
