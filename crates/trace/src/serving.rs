//! The annotations by which inference servers name their steps, and what they say about the batch.
//!
//! | engine | annotation |
//! |---|---|
//! | vLLM | `execute_32_context_0(sq0sk0…)_generation_32(sq32sk55086…)`, `execute_context_2(1024)_generation_30(30)`, `execute_new_1_cached_7` |
//! | SGLang | `step[EXTEND bs=15 toks=15360]`, `step[DECODE bs=32]` |
//! | ATOM | `prefill[bs=1 tok=2048]`, `decode[bs=32 tok=32]` |
//! | xDiT | `execute_diffusion_3` |

use serde::Serialize;

/// What an engine worked on in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServingPhase {
    /// Prompts are read.
    Prefill,
    /// Each request gets its next tokens.
    Decode,
    /// Some requests are read while others go on.
    Mixed,
    /// A denoising step of an image or video.
    Diffusion,
    /// The annotation does not tell, or the batch is empty.
    Other,
}

impl ServingPhase {
    pub fn label(self) -> &'static str {
        match self {
            ServingPhase::Prefill => "prefill",
            ServingPhase::Decode => "decode",
            ServingPhase::Mixed => "mixed",
            ServingPhase::Diffusion => "diffusion",
            ServingPhase::Other => "other",
        }
    }
}

/// Requests and tokens of one phase; none where the annotation does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    pub requests: Option<i64>,
    pub tokens: Option<i64>,
}

/// What the annotation of a step says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServingStep {
    pub phase: ServingPhase,
    pub prefill: Batch,
    pub decode: Batch,
}

impl ServingStep {
    /// None if the name is not that of a step.
    pub fn parse(name: &str) -> Option<ServingStep> {
        if let Some(rest) = name.strip_prefix("execute_") {
            return Some(executed(rest));
        }
        let (word, rest) = name.split_once('[')?;
        let inside = rest.strip_suffix(']')?;
        let (batch, other) = (bracketed(inside), Batch::default());
        let phase = match word {
            "prefill" => ServingPhase::Prefill,
            "decode" => ServingPhase::Decode,
            "step" => {
                match inside.split_whitespace().next().unwrap_or_default().to_ascii_uppercase().as_str() {
                    "EXTEND" | "PREFILL" => ServingPhase::Prefill,
                    "DECODE" | "TARGET_VERIFY" | "DRAFT_EXTEND" => ServingPhase::Decode,
                    "MIXED" => ServingPhase::Mixed,
                    _ => ServingPhase::Other,
                }
            }
            _ => return None,
        };
        Some(match phase {
            ServingPhase::Decode => {
                // One token for each request, unless it says otherwise.
                let tokens = batch.tokens.or(batch.requests);
                ServingStep { phase, prefill: other, decode: Batch { tokens, ..batch } }
            }
            _ => ServingStep { phase, prefill: batch, decode: other },
        })
    }

    /// Whether a name says a step's phase and batch in the words of the engines, and nothing else.
    pub fn is_all(name: &str) -> bool {
        const WORDS: [&str; 21] = [
            "execute",
            "context",
            "generation",
            "new",
            "cached",
            "diffusion",
            "sq",
            "sk",
            "sqsq",
            "sqsk",
            "step",
            "prefill",
            "decode",
            "bs",
            "tok",
            "toks",
            "EXTEND",
            "DECODE",
            "PREFILL",
            "MIXED",
            "",
        ];
        let mut words = name.split(|c: char| c.is_ascii_digit() || "_()[]= ,".contains(c));
        words.all(|word| WORDS.contains(&word))
            && ServingStep::parse(name).is_some_and(|step| step.phase != ServingPhase::Other)
    }

    /// Requests in the batch, whatever their phase.
    pub fn requests(&self) -> Option<i64> {
        sum(self.prefill.requests, self.decode.requests)
    }

    pub fn tokens(&self) -> Option<i64> {
        sum(self.prefill.tokens, self.decode.tokens)
    }
}

fn sum(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    }
}

/// `bs=15 toks=15360`
fn bracketed(text: &str) -> Batch {
    let of = |keys: &[&str]| {
        let mut pairs = text.split([' ', ',']).filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| keys.contains(key)).and_then(|(_, value)| number(value))
    };
    Batch { requests: of(&["bs", "batch", "reqs"]), tokens: of(&["toks", "tok", "tokens", "num_tokens"]) }
}

/// What follows `execute_`.
fn executed(rest: &str) -> ServingStep {
    let batch = |word: &str| {
        let Some(at) = rest.find(word) else { return Batch::default() };
        let text = &rest[at + word.len()..];
        let inside =
            text.split_once('(').map_or("", |(_, inside)| inside.split(')').next().unwrap_or_default());
        Batch { requests: number(text), tokens: number(inside.strip_prefix("sq").unwrap_or(inside)) }
    };
    let has = |batch: Batch| batch.requests.is_some_and(|requests| requests > 0);
    if rest.starts_with("diffusion") {
        let none = Batch::default();
        return ServingStep { phase: ServingPhase::Diffusion, prefill: none, decode: none };
    }
    // Requests that are new have their prompt read, those cached go on.
    let (prefill, decode) = if rest.contains("context_") || rest.contains("generation_") {
        (batch("context_"), batch("generation_"))
    } else {
        (batch("new_"), batch("cached_"))
    };
    let phase = match (has(prefill), has(decode)) {
        (true, true) => ServingPhase::Mixed,
        (true, false) => ServingPhase::Prefill,
        (false, true) => ServingPhase::Decode,
        (false, false) => ServingPhase::Other,
    };
    ServingStep { phase, prefill, decode }
}

/// The digits a text begins with.
fn number(text: &str) -> Option<i64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    text[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str) -> Option<(ServingPhase, [Option<i64>; 4])> {
        let step = ServingStep::parse(name)?;
        let ServingStep { prefill, decode, .. } = step;
        Some((step.phase, [prefill.requests, prefill.tokens, decode.requests, decode.tokens]))
    }

    #[test]
    fn every_engine_is_understood() {
        let none = [None; 4];
        for (name, phase, batch) in [
            (
                "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)",
                ServingPhase::Decode,
                [Some(0), Some(0), Some(32), Some(32)],
            ),
            (
                "execute_15360_context_15(sq15360sk15360sqsq1sqsk1)_generation_0(sq0sk0sqsq0sqsk0)",
                ServingPhase::Prefill,
                [Some(15), Some(15360), Some(0), Some(0)],
            ),
            (
                "execute_context_2(1024)_generation_30(30)",
                ServingPhase::Mixed,
                [Some(2), Some(1024), Some(30), Some(30)],
            ),
            ("execute_new_1_cached_7", ServingPhase::Mixed, [Some(1), None, Some(7), None]),
            ("execute_model", ServingPhase::Other, none),
            ("execute_diffusion_3", ServingPhase::Diffusion, none),
            ("step[EXTEND bs=15 toks=15360]", ServingPhase::Prefill, [Some(15), Some(15360), None, None]),
            ("step[DECODE bs=32]", ServingPhase::Decode, [None, None, Some(32), Some(32)]),
            ("step[IDLE bs=0]", ServingPhase::Other, [Some(0), None, None, None]),
            ("prefill[bs=1 tok=2048]", ServingPhase::Prefill, [Some(1), Some(2048), None, None]),
            ("decode[bs=4, tok=8]", ServingPhase::Decode, [None, None, Some(4), Some(8)]),
        ] {
            assert_eq!(parsed(name), Some((phase, batch)), "{name}");
        }
    }

    #[test]
    fn a_name_that_says_more_is_not_all_about_the_step() {
        let vllm = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)";
        for name in [vllm, "execute_new_1_cached_7", "step[DECODE bs=32]", "decode[bs=4, tok=8]"] {
            assert!(ServingStep::is_all(name), "{name}");
        }
        for name in
            ["execute_context_1(5)_generation_0(0)_secret", "execute_model", "step[DECODE bs=32 bob=1]", ""]
        {
            assert!(!ServingStep::is_all(name), "{name}");
        }
    }

    #[test]
    fn other_names_are_no_steps() {
        for name in
            ["", "step", "step[", "stepper[DECODE]", "ProfilerStep#3", "forward", "decode", "capture_32_FULL"]
        {
            assert_eq!(parsed(name), None, "{name}");
        }
        let huge = parsed("execute_context_99999999999999999999(9)_generation_1(x)");
        assert_eq!(huge, Some((ServingPhase::Decode, [None, Some(9), Some(1), None])));
    }
}
