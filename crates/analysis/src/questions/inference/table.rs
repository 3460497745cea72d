//! Inference as tables.

use gpuscope_table::{Table, Tabular, Unit};

use super::InferenceAnswer;

impl Tabular for InferenceAnswer {
    fn tables(&self) -> Vec<Table> {
        vec![
            self.phases_table(),
            self.steady_table(),
            self.replays_table(),
            self.operators_table(),
            self.kernels_table(),
            self.steps_table(),
        ]
    }
}

impl InferenceAnswer {
    fn phases_table(&self) -> Table {
        Table::of("phases", "Prefill and decode", &self.phases)
            .int("rank", Unit::None, "The rank", |p| i64::from(p.rank))
            .text("steps_of", "All steps, or those of the steady state", |p| {
                if p.steady { "steady state" } else { "all" }.to_owned()
            })
            .text("phase", "Prefill reads prompts, decode produces tokens, mixed does both", |p| {
                p.phase.label().to_owned()
            })
            .int("steps", Unit::Count, "Steps", |p| p.steps as i64)
            .float("mean_requests", Unit::Ratio, "Requests in the batch, mean", |p| p.mean_requests)
            .int("tokens", Unit::Count, "Tokens worked on", |p| p.tokens)
            .int(
                "median_period_ns",
                Unit::Ns,
                "From the end of the step before to the end of this one, median",
                |p| p.median_period_ns.map(|ns| ns.0),
            )
            .int("busy_ns", Unit::Ns, "Time in which the GPU worked on them", |p| p.busy_ns.0)
            .int("idle_ns", Unit::Ns, "Time within them in which it did not", |p| p.idle_ns.0)
            .int("gap_ns", Unit::Ns, "Time before them in which it did not", |p| p.gap_ns.0)
            .float("tokens_per_s", Unit::Ratio, "Tokens a second", |p| p.tokens_per_s)
            .float("replayed_pct", Unit::Percent, "GPU events that a graph replayed", |p| p.replayed_pct)
            .int("median_busy_ns", Unit::Ns, "Time in which the GPU worked on one, median", |p| {
                p.median_busy_ns.0
            })
            .build()
    }

    fn steady_table(&self) -> Table {
        Table::of("steady", "The steady state: the longest stretch with a full batch", &self.steady)
            .int("rank", Unit::None, "The rank", |s| i64::from(s.rank))
            .int("first_step", Unit::None, "Its first step", |s| s.first_step)
            .int("last_step", Unit::None, "Its last step", |s| s.last_step)
            .int("steps", Unit::Count, "Steps", |s| s.steps as i64)
            .int("full_batch", Unit::Count, "Requests of a full batch", |s| s.full_batch)
            .int("time_ns", Unit::Ns, "How long it lasted on the GPU", |s| s.time_ns.0)
            .float("busy_pct", Unit::Percent, "Share of it in which the GPU worked", |s| s.busy_pct)
            .float("decode_tokens_per_s", Unit::Ratio, "Tokens produced a second", |s| s.decode_tokens_per_s)
            .float("prefill_tokens_per_s", Unit::Ratio, "Tokens of prompts read a second", |s| {
                s.prefill_tokens_per_s
            })
            .int("prefill_steps", Unit::Count, "Steps that only read prompts", |s| s.prefill_steps as i64)
            .int("decode_steps", Unit::Count, "Steps that only produced tokens", |s| s.decode_steps as i64)
            .int("mixed_steps", Unit::Count, "Steps that did both", |s| s.mixed_steps as i64)
            .build()
    }

    fn replays_table(&self) -> Table {
        Table::of("replays", "What graphs replayed", &self.replays)
            .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
            .int("replays", Unit::Count, "Launches of graphs", |r| r.replays as i64)
            .int("events", Unit::Count, "GPU events that they put on the device", |r| r.events as i64)
            .int("replayed_ns", Unit::Ns, "Their time, summed", |r| r.replayed_ns.0)
            .float("replayed_pct", Unit::Percent, "Of the time of all GPU events", |r| r.replayed_pct)
            .int("attributed_ns", Unit::Ns, "Of it, that whose operator a capture tells", |r| {
                r.attributed_ns.0
            })
            .float(
                "attributed_pct",
                Unit::Percent,
                "The same as a share; --capture FILE names kernels",
                |r| r.attributed_pct,
            )
            .int("captured_graphs", Unit::Count, "Graphs in the traces of captures", |r| {
                r.captured_graphs as i64
            })
            .build()
    }

    fn operators_table(&self) -> Table {
        let told = self.replayed_operators.iter().any(|row| row.operator.is_some());
        // Without a capture there is one row that says nothing.
        let rows = if told { self.replayed_operators.as_slice() } else { &[] };
        Table::of("replayed_operators", "What replayed kernels belong to", rows)
            .int("rank", Unit::None, "The rank", |o| i64::from(o.rank))
            .text("operator", "The operator that launched them in the capture", |o| o.operator.clone())
            .int("count", Unit::Count, "GPU events", |o| o.count as i64)
            .int("sum_ns", Unit::Ns, "Their time", |o| o.sum_ns.0)
            .float("pct", Unit::Percent, "Of all replayed time", |o| o.pct)
            .build()
    }

    fn kernels_table(&self) -> Table {
        Table::of("replayed_kernels", "Replayed kernels", &self.replayed_kernels)
            .int("rank", Unit::None, "The rank", |k| i64::from(k.rank))
            .text("name", "The kernel", |k| k.name.clone())
            .text("operator", "The operator that launched it in the capture", |k| k.operator.clone())
            .text("module", "The innermost module it was in", |k| k.module.clone())
            .int("count", Unit::Count, "How often it ran", |k| k.count as i64)
            .int("sum_ns", Unit::Ns, "Its time", |k| k.sum_ns.0)
            .float("pct", Unit::Percent, "Of all replayed time", |k| k.pct)
            .build()
    }

    fn steps_table(&self) -> Table {
        Table::of("steps", "Each step", &self.steps)
            .int("rank", Unit::None, "The rank", |s| i64::from(s.rank))
            .int("step", Unit::None, "Its number, for --step", |s| s.step)
            .text("phase", "What it works on", |s| s.phase.label().to_owned())
            .int("requests", Unit::Count, "Requests in the batch", |s| s.requests)
            .int("tokens", Unit::Count, "Tokens worked on", |s| s.tokens)
            .int("period_ns", Unit::Ns, "From the end of the step before to the end of this one", |s| {
                s.period_ns.map(|ns| ns.0)
            })
            .int("busy_ns", Unit::Ns, "Time in which the GPU worked on it", |s| s.busy_ns.0)
            .int("idle_ns", Unit::Ns, "Time within it in which it did not", |s| s.idle_ns.0)
            .int("gap_ns", Unit::Ns, "Time before it in which it did not", |s| s.gap_ns.map(|ns| ns.0))
            .int("gpu_events", Unit::Count, "GPU events", |s| s.gpu_events as i64)
            .int("replayed", Unit::Count, "Of these, those that a graph replayed", |s| s.replayed as i64)
            .text("steady", "Whether it belongs to the steady state", |s| {
                if s.steady { "yes" } else { "no" }.to_owned()
            })
            .int("wall_ns", Unit::Ns, "How long its annotation lasted on the host", |s| s.wall_ns.0)
            .int("prefill_requests", Unit::Count, "Requests whose prompt was read", |s| s.prefill_requests)
            .int("prefill_tokens", Unit::Count, "Tokens of prompts", |s| s.prefill_tokens)
            .int("decode_requests", Unit::Count, "Requests that went on", |s| s.decode_requests)
            .int("decode_tokens", Unit::Count, "Tokens for them", |s| s.decode_tokens)
            .int("start_ns", Unit::TimestampNs, "When its annotation began, as written", |s| s.start_ns.0)
            .text("name", "The annotation", |s| s.name.clone())
            .build()
    }
}
