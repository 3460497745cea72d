//! What to do about it, most telling first.

use std::collections::BTreeMap;

use gpuscope_trace::Ns;

use super::recompiles::Change;
use super::spent::Phase;
use super::{Break, CompileAnswer, Frame, Status};

/// As many breaks are named; the rest are in the table.
const NAMED_BREAKS: usize = 3;

/// Compilers of kernels above this share of the compile time are worth a word.
const MUCH_PCT: f64 = 50.0;

/// Below this ratio hardly anything was fused.
const LITTLE_FUSION: f64 = 1.2;

/// Fewer kernels than this may be too few to fuse.
const SOME_KERNELS: u64 = 8;

pub(super) fn recommendations(answer: &CompileAnswer) -> Vec<String> {
    let mut advice: Vec<String> = failures(&answer.frames);
    advice.extend(breaks(answer));
    advice.extend(recompiles(answer));
    advice.extend(kernels(answer));
    advice.extend(bypasses(answer));
    advice.extend(fusion(answer));
    advice
}

fn place(file: Option<&str>, line: Option<i64>) -> String {
    let file = file.unwrap_or("an unknown file");
    line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"))
}

fn failures(frames: &[Frame]) -> Vec<String> {
    let mut seen: BTreeMap<String, (&Frame, u64)> = BTreeMap::new();
    for frame in frames.iter().filter(|frame| frame.status == Status::Failed) {
        seen.entry(place(frame.file.as_deref(), frame.line)).or_insert((frame, 0)).1 += 1;
    }
    seen.into_iter()
        .map(|(place, (frame, count))| {
            let name = frame.function.as_deref().unwrap_or("a frame");
            let times = if count > 1 { format!(" ({count} times)") } else { String::new() };
            let reason = frame.fail_reason.as_deref().unwrap_or("no reason is given");
            format!("{name} at {place} could not be compiled{times}: {reason}.")
        })
        .collect()
}

fn breaks(answer: &CompileAnswer) -> Vec<String> {
    let mut seen: Vec<&Break> = Vec::new();
    for row in &answer.breaks {
        if !seen
            .iter()
            .any(|known| (&known.reason, &known.file, known.line) == (&row.reason, &row.file, row.line))
        {
            seen.push(row);
        }
        if seen.len() == NAMED_BREAKS {
            break;
        }
    }
    let text = |row: &&Break| {
        let place = place(row.file.as_deref(), row.line);
        // The table has all of it.
        let first = first_sentence(&row.suggestion);
        format!("The graph breaks at {place}: {}. {first}", row.reason)
    };
    let mut advice: Vec<String> = seen.iter().map(text).collect();
    let more = answer.total_graph_breaks.saturating_sub(advice.len() as u64);
    if more > 0 {
        advice.push(format!("Graphs break at {more} further places."));
    }
    advice
}

/// One word for each sort of change.
fn recompiles(answer: &CompileAnswer) -> Vec<String> {
    let mut by_change: BTreeMap<Change, (u64, Ns)> = BTreeMap::new();
    for row in &answer.recompiles {
        let (count, time) = by_change.entry(row.change).or_default();
        *count += 1;
        *time += row.compile_ns;
    }
    let mut changes: Vec<(Change, (u64, Ns))> = by_change.into_iter().collect();
    changes.sort_by_key(|(_, (_, time))| std::cmp::Reverse(*time));
    let text = |(change, (count, time)): (Change, (u64, Ns))| {
        let what = match change {
            Change::Unknown => "for reasons not told here".to_owned(),
            change => format!("because of a change of {}", change.label().replace('_', " ")),
        };
        let times =
            if count == 1 { "One compilation was".to_owned() } else { format!("{count} compilations were") };
        let seconds = time.as_f64() / 1e9;
        format!("{times} needed again {what} ({seconds:.1} s). {}", change.suggestion())
    };
    changes.into_iter().map(text).collect()
}

fn kernels(answer: &CompileAnswer) -> Option<String> {
    let kernels = answer.phases.iter().filter(|row| row.phase == Phase::Kernels);
    let most = kernels.max_by(|a, b| a.pct.total_cmp(&b.pct)).filter(|row| row.pct > MUCH_PCT)?;
    Some(format!(
        "{:.0} % of the compile time went to the compilers of C++ and Triton: keep inductor's cache from run to run \
         (TORCHINDUCTOR_CACHE_DIR).",
        most.pct
    ))
}

fn bypasses(answer: &CompileAnswer) -> Option<String> {
    let bypasses: u64 = answer.ranks.iter().map(|rank| rank.cache_bypasses).sum();
    (bypasses > 0).then(|| {
        format!("{bypasses} graphs could not use the compile caches: custom operators or passes without a key keep them out.")
    })
}

fn fusion(answer: &CompileAnswer) -> Option<String> {
    let ratio = answer.fusion_ratio.filter(|ratio| *ratio < LITTLE_FUSION)?;
    (answer.ops_after_fusion >= SOME_KERNELS).then(|| {
        format!(
            "Hardly anything was fused: {} operators became {} kernels ({ratio:.2} to one). Library calls and operators \
             without a lowering are not fused.",
            answer.ops_before_fusion, answer.ops_after_fusion
        )
    })
}

/// Up to a full stop before a capital: `e.g. x` goes on.
fn first_sentence(text: &str) -> &str {
    let ends = |(at, _): &(usize, &str)| text[at + 2..].starts_with(char::is_uppercase);
    text.match_indices(". ").find(ends).map_or(text, |(at, _)| &text[..=at])
}

#[cfg(test)]
mod tests {
    use super::first_sentence;

    #[test]
    fn a_sentence_ends_before_a_capital() {
        assert_eq!(first_sentence("Use (e.g. clamp) this. Or that."), "Use (e.g. clamp) this.");
        assert_eq!(first_sentence("Only one. "), "Only one. ");
        assert_eq!(first_sentence(""), "");
    }
}
