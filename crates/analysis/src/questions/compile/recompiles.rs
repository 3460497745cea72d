//! Which frames were compiled again, and what had changed.

use gpuscope_trace::Ns;
use gpuscope_trace::compile_log::CompileLog;
use serde::Serialize;

use super::Frame;
use super::breaks::first_line;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recompile {
    pub rank: u32,
    pub compile_id: String,
    pub function: Option<String>,
    pub file: Option<String>,
    pub line: Option<i64>,
    /// The guard that failed first.
    pub reason: Option<String>,
    /// The compilation that could not be used because of it.
    pub instead_of: Option<String>,
    pub change: Change,
    pub suggestion: String,
    pub compile_ns: Ns,
    /// All guards that failed, one of every earlier compilation.
    pub reasons: Vec<String>,
}

/// What was not as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Size,
    Rank,
    Stride,
    Dtype,
    Device,
    RequiresGrad,
    GlobalState,
    Value,
    Object,
    Unknown,
}

/// What a guard's text begins to say, most telling first.
const TELLING: [(&str, Change); 17] = [
    ("size mismatch", Change::Size),
    ("rank mismatch", Change::Rank),
    ("stride mismatch", Change::Stride),
    ("dtype mismatch", Change::Dtype),
    ("device mismatch", Change::Device),
    ("device index mismatch", Change::Device),
    ("requires_grad mismatch", Change::RequiresGrad),
    ("dispatch key set mismatch", Change::RequiresGrad),
    ("GLOBAL_STATE", Change::GlobalState),
    ("grad_mode", Change::GlobalState),
    (".size()[", Change::Size),
    ("___check_obj_id", Change::Object),
    ("___check_type_id", Change::Object),
    ("type(", Change::Object),
    (" is ", Change::Object),
    ("==", Change::Value),
    ("not in", Change::Value),
];

impl Change {
    pub fn label(self) -> &'static str {
        match self {
            Change::Size => "size",
            Change::Rank => "rank",
            Change::Stride => "stride",
            Change::Dtype => "dtype",
            Change::Device => "device",
            Change::RequiresGrad => "requires_grad",
            Change::GlobalState => "global_state",
            Change::Value => "value",
            Change::Object => "object",
            Change::Unknown => "unknown",
        }
    }

    fn of(reason: &str) -> Change {
        TELLING.iter().find(|(text, _)| reason.contains(text)).map_or(Change::Unknown, |(_, change)| *change)
    }

    pub(super) fn suggestion(self) -> &'static str {
        match self {
            Change::Size => {
                "Compile for varying sizes: torch.compile(dynamic=True) or torch._dynamo.mark_dynamic(tensor, dim); or pad \
                 to a few sizes."
            }
            Change::Rank | Change::Stride => {
                "Give the function tensors of one shape and layout, such as by reshaping and .contiguous() before the call."
            }
            Change::Dtype => {
                "Convert to one type before the call, or compile one function for each type on purpose."
            }
            Change::Device => "Keep inputs on one device, or compile one function for each.",
            Change::RequiresGrad | Change::GlobalState => {
                "Call it in one mode: training and inference, autocast and grad modes are compiled apart; warm up each."
            }
            Change::Value => {
                "Numbers and texts of Python are taken for constants: pass a changing number as a tensor, or keep it outside of \
                 the compiled function."
            }
            Change::Object => {
                "Functions, classes and modules are taken for constants: create them once, not for every call."
            }
            Change::Unknown => "TORCH_LOGS=recompiles_verbose shows every guard that failed.",
        }
    }
}

/// A compilation of a frame after its first.
pub(super) fn recompiles(rank: u32, log: &CompileLog, frames: &[Frame]) -> Vec<Recompile> {
    let again = log.compilations.iter().zip(frames).filter(|(compilation, _)| {
        compilation.id.compile.is_some_and(|compile| compile > 0) || !compilation.recompile_reasons.is_empty()
    });
    again
        .map(|(compilation, frame)| {
            let reasons = &compilation.recompile_reasons;
            let first = reasons.first().map(|reason| first_line(reason));
            let (instead_of, reason) = first.map_or((None, None), |text| split(&text));
            let change = reason.as_deref().map_or(Change::Unknown, Change::of);
            Recompile {
                rank,
                compile_id: frame.compile_id.clone(),
                function: frame.function.clone(),
                file: frame.file.clone(),
                line: frame.line,
                reason,
                instead_of,
                change,
                suggestion: change.suggestion().to_owned(),
                compile_ns: frame.compile_ns,
                reasons: reasons.clone(),
            }
        })
        .collect()
}

/// `0/0: tensor 'x' size mismatch …    # comment` is the compilation and the guard.
fn split(text: &str) -> (Option<String>, Option<String>) {
    let guard = |text: &str| Some(text.split("  # ").next().unwrap_or(text).trim().to_owned());
    match text.split_once(": ") {
        Some((id, reason))
            if id.starts_with(|c: char| c.is_ascii_digit() || c == '!') && id.contains('/') =>
        {
            (Some(id.to_owned()), guard(reason))
        }
        _ => (None, guard(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_split_and_understood() {
        for (text, id, reason, change) in [
            (
                "0/0: tensor 'x' size mismatch at index 0. expected 4, actual 6",
                Some("0/0"),
                None,
                Change::Size,
            ),
            ("3/1: tensor 'x' dtype mismatch. expected Double", Some("3/1"), None, Change::Dtype),
            (
                "2/0: ___stack0 == -14.5       # if z > 0:  # model.py:12",
                Some("2/0"),
                Some("___stack0 == -14.5"),
                Change::Value,
            ),
            ("___check_obj_id(L['f'], 7)", None, None, Change::Object),
            ("a: b", None, Some("a: b"), Change::Unknown),
        ] {
            let (found, guard) = split(text);
            assert_eq!(found.as_deref(), id, "{text}");
            let guard = guard.unwrap();
            assert_eq!(Change::of(&guard), change, "{text}");
            assert!(reason.is_none_or(|reason| reason == guard), "{guard}");
        }
    }
}
