//! Reproducible chance: a counter-based hash, so that a value depends on where it is used and not on what ran before.
//!
//! Planting a fault must not change the jitter of everything after it; only then is "the same job without the fault"
//! a fair comparison.

/// The finaliser of splitmix64.
pub fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A sequential generator over `mix`.
#[derive(Debug, Clone)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64 { state: seed }
    }

    pub fn next_u64(&mut self) -> u64 {
        let value = mix(self.state);
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        value
    }

    /// Below `bound`; 0 if the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.next_u64() % bound as u64) as usize }
    }
}

/// `ns` changed by at most `per_mille` thousandths, decided by `key`.
pub(crate) fn jittered(ns: i64, per_mille: i64, key: u64) -> i64 {
    let span = ns * per_mille / 1000;
    if span <= 0 {
        return ns;
    }
    let width = (2 * span + 1) as u64;
    ns - span + (mix(key) % width) as i64
}
