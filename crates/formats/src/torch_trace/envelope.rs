//! The object of a record, as far as it is of use here.

use gpuscope_trace::Ns;
use gpuscope_trace::compile_log::{CompileId, CompileMetrics, GraphKind};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

/// What is not named here is skipped without being kept: most records are of no use for any question.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Envelope {
    pub rank: Option<u32>,
    compiled_autograd_id: Option<i64>,
    frame_id: Option<i64>,
    frame_compile_id: Option<i64>,
    pub attempt: Option<u32>,
    pub has_payload: Option<IgnoredAny>,
    /// A text, and the number that stands for it from here on.
    pub str: Option<(String, i64)>,
    pub dynamo_start: Option<Start>,
    dynamo_output_graph: Option<IgnoredAny>,
    aot_joint_graph: Option<IgnoredAny>,
    aot_forward_graph: Option<IgnoredAny>,
    aot_backward_graph: Option<IgnoredAny>,
    aot_inference_graph: Option<IgnoredAny>,
    pub inductor_output_code: Option<IgnoredAny>,
    pub chromium_event: Option<IgnoredAny>,
    pub artifact: Option<Artifact>,
    pub compilation_metrics: Option<Map<String, Value>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Start {
    pub stack: Vec<Frame>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Frame {
    pub line: Option<i64>,
    pub name: Option<String>,
    /// The number of an earlier `str`.
    pub filename: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Artifact {
    pub name: String,
}

impl Envelope {
    pub(super) fn id(&self) -> Option<CompileId> {
        let id = CompileId {
            autograd: self.compiled_autograd_id,
            frame: self.frame_id,
            compile: self.frame_compile_id,
        };
        (id != CompileId::default()).then_some(id)
    }

    pub(super) fn graph(&self) -> Option<GraphKind> {
        let kinds = [
            (&self.dynamo_output_graph, GraphKind::Dynamo),
            (&self.aot_joint_graph, GraphKind::Joint),
            (&self.aot_forward_graph, GraphKind::Forward),
            (&self.aot_backward_graph, GraphKind::Backward),
            (&self.aot_inference_graph, GraphKind::Inference),
        ];
        kinds.into_iter().find_map(|(tag, kind)| tag.as_ref().map(|_| kind))
    }
}

/// `0/1`, `!2/0/1` or `!2`; with what is none, nothing.
pub(super) fn parse_id(text: &str) -> Option<CompileId> {
    let (autograd, rest) = match text.strip_prefix('!') {
        Some(text) => {
            let (autograd, rest) = text.split_once('/').map_or((text, None), |(a, rest)| (a, Some(rest)));
            (Some(autograd.parse().ok()?), rest)
        }
        None => (None, Some(text)),
    };
    let frame = |rest: &str| {
        let (frame, compile) = rest.split_once('/')?;
        // An attempt may follow.
        let compile = compile.split('_').next()?;
        Some((frame.parse().ok()?, compile.parse().ok()?))
    };
    let (frame, compile) = rest.map(|rest| frame(rest).ok_or(())).transpose().ok()?.unzip();
    Some(CompileId { autograd, frame, compile })
}

/// What torch measured; its names and units have changed over the years.
pub(super) fn metrics(members: &Map<String, Value>) -> CompileMetrics {
    let text = |key: &str| members.get(key).and_then(Value::as_str).map(str::to_owned);
    let time = |us: &str, s: &str| {
        let of = |key: &str| members.get(key).and_then(Value::as_f64);
        let ns = of(us).map(|us| us * 1e3).or_else(|| of(s).map(|s| s * 1e9))?;
        Some(Ns((ns.round() as i64).clamp(0, Ns::LIMIT.0)))
    };
    let reasons = members.get("restart_reasons").and_then(Value::as_array);
    CompileMetrics {
        whole: time("dynamo_cumulative_compile_time_us", "entire_frame_compile_time_s"),
        backend: time("aot_autograd_cumulative_compile_time_us", "backend_compile_time_s"),
        inductor: time("inductor_cumulative_compile_time_us", "inductor_compile_time_s"),
        code_gen: time("inductor_code_gen_cumulative_compile_time_us", "code_gen_time_s"),
        guards: members.get("guard_count").and_then(Value::as_i64),
        fail_type: text("fail_type"),
        fail_reason: text("fail_reason"),
        restart_reasons: reasons
            .map(|reasons| reasons.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            .unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written() {
        for text in ["0/1", "!2/0/1", "!2"] {
            assert_eq!(parse_id(text).map(|id| id.to_string()).as_deref(), Some(text));
        }
        assert_eq!(parse_id("3/1_2"), parse_id("3/1"));
        for other in ["None", "", "-", "0", "!", "a/b", "!1/2"] {
            assert_eq!(parse_id(other), None, "{other}");
        }
    }

    #[test]
    fn metrics_of_old_and_new_versions_are_the_same() {
        let of = |text: &str| metrics(&serde_json::from_str(text).unwrap());
        let new = of(r#"{"dynamo_cumulative_compile_time_us": 1500, "entire_frame_compile_time_s": 9}"#);
        let old = of(r#"{"entire_frame_compile_time_s": 0.0015, "guard_count": null, "restart_reasons": 3}"#);
        assert_eq!(new, old);
        assert_eq!(new.whole, Some(Ns(1_500_000)));
    }
}
