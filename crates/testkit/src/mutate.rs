//! Damages a trace's bytes in ways files are damaged: reproducibly, so that a failure can be looked at again.

use crate::rng::SplitMix64;

/// The kinds of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    FlipByte,
    Truncate,
    DeleteRange,
    DuplicateRange,
    InsertAscii,
    InsertSyntax,
    InsertInvalidUtf8,
    SwapEvents,
}

const ALL: [Damage; 8] = [
    Damage::FlipByte,
    Damage::Truncate,
    Damage::DeleteRange,
    Damage::DuplicateRange,
    Damage::InsertAscii,
    Damage::InsertSyntax,
    Damage::InsertInvalidUtf8,
    Damage::SwapEvents,
];

const SYNTAX: [&[u8]; 10] = [b"\"", b"{", b"}", b"[", b"]", b"\\", b",", b":", b"\n", b"\\u12"];
const INVALID_UTF8: [&[u8]; 4] = [b"\xff", b"\xc3\x28", b"\xe2\x82", b"\xf0\x9f"];
const LONGEST_RANGE: usize = 200;

/// One to four kinds of damage, decided by the seed.
pub fn mutate(bytes: &[u8], seed: u64) -> Vec<u8> {
    let mut rng = SplitMix64::new(seed);
    let mut mutated = bytes.to_vec();
    for _ in 0..=rng.below(4) {
        let damage = ALL[rng.below(ALL.len())];
        apply(&mut mutated, damage, &mut rng);
    }
    mutated
}

/// One kind of damage, its place decided by the seed.
pub fn mutate_with(bytes: &[u8], damage: Damage, seed: u64) -> Vec<u8> {
    let mut mutated = bytes.to_vec();
    apply(&mut mutated, damage, &mut SplitMix64::new(seed));
    mutated
}

fn apply(bytes: &mut Vec<u8>, damage: Damage, rng: &mut SplitMix64) {
    if bytes.is_empty() {
        return;
    }
    let at = rng.below(bytes.len());
    let end = (at + 1 + rng.below(LONGEST_RANGE)).min(bytes.len());
    match damage {
        Damage::FlipByte => bytes[at] ^= 1 << rng.below(8),
        Damage::Truncate => bytes.truncate(at),
        Damage::DeleteRange => {
            bytes.drain(at..end);
        }
        Damage::DuplicateRange => {
            let copy = bytes[at..end].to_vec();
            insert(bytes, end, &copy);
        }
        Damage::InsertAscii => {
            let text: Vec<u8> = (0..=rng.below(8)).map(|_| b' ' + rng.below(95) as u8).collect();
            insert(bytes, at, &text);
        }
        Damage::InsertSyntax => insert(bytes, at, SYNTAX[rng.below(SYNTAX.len())]),
        Damage::InsertInvalidUtf8 => insert(bytes, at, INVALID_UTF8[rng.below(INVALID_UTF8.len())]),
        Damage::SwapEvents => swap_events(bytes, rng),
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, text: &[u8]) {
    bytes.splice(at..at, text.iter().copied());
}

/// Swaps two elements of the event array, found by Kineto's indentation.
fn swap_events(bytes: &mut Vec<u8>, rng: &mut SplitMix64) {
    let events = event_ranges(bytes);
    if events.len() < 2 {
        return;
    }
    let (one, other) = (rng.below(events.len()), rng.below(events.len()));
    let (first, second) = (one.min(other), one.max(other));
    if first == second {
        return;
    }
    let (a, b) = (events[first].clone(), events[second].clone());
    let mut swapped = Vec::with_capacity(bytes.len());
    swapped.extend_from_slice(&bytes[..a.start]);
    swapped.extend_from_slice(&bytes[b.clone()]);
    swapped.extend_from_slice(&bytes[a.end..b.start]);
    swapped.extend_from_slice(&bytes[a]);
    swapped.extend_from_slice(&bytes[b.end..]);
    *bytes = swapped;
}

fn event_ranges(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    const OPEN: &[u8] = b"\n  {\n";
    const CLOSE: &[u8] = b"\n  }";
    let mut ranges = Vec::new();
    let mut at = 0;
    while let Some(start) = find(bytes, OPEN, at) {
        let Some(end) = find(bytes, CLOSE, start) else { break };
        at = end + CLOSE.len();
        ranges.push(start..at);
    }
    ranges
}

fn find(bytes: &[u8], wanted: &[u8], from: usize) -> Option<usize> {
    bytes.get(from..)?.windows(wanted.len()).position(|window| window == wanted).map(|at| at + from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_same_damage() {
        let bytes = crate::text::trace().kernel("gemm", 10..20).kernel("add", 30..40).to_json().into_bytes();
        for seed in 0..200 {
            assert_eq!(mutate(&bytes, seed), mutate(&bytes, seed));
        }
        let changed = (0..200).filter(|&seed| mutate(&bytes, seed) != bytes).count();
        assert!(changed > 180, "{changed}");
    }

    #[test]
    fn swapping_keeps_the_bytes_and_the_syntax() {
        let bytes = crate::text::trace().kernel("gemm", 10..20).kernel("add", 30..40).to_json().into_bytes();
        let swapped = mutate_with(&bytes, Damage::SwapEvents, 3);
        let mut sorted = [bytes.clone(), swapped.clone()];
        for bytes in &mut sorted {
            bytes.sort_unstable();
        }
        assert_eq!(sorted[0], sorted[1]);
        assert!(serde_json::from_slice::<serde_json::Value>(&swapped).is_ok());
    }

    #[test]
    fn nothing_to_damage() {
        assert!(mutate(b"", 1).is_empty());
    }
}
