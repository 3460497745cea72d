//! What a colour means: the same thing in every chart, table and timeline.

/// Colours are told apart by people who see few of them, on light and on dark ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hue {
    Compute,
    Communication,
    Copy,
    Memset,
    Idle,
    Host,
    /// A finding, or the critical path.
    Critical,
    /// One of many without a meaning of their own: models, kernels, ranks.
    Nth(usize),
}

/// For what has no meaning of its own; none is one of the colours that have.
const OTHERS: [&str; 8] =
    ["#4C78A8", "#F2A541", "#54A24B", "#B279A2", "#72B7B2", "#E4575B", "#9D755D", "#8A8F98"];

impl Hue {
    pub const MEANINGFUL: [Hue; 7] =
        [Hue::Compute, Hue::Communication, Hue::Copy, Hue::Memset, Hue::Idle, Hue::Host, Hue::Critical];

    /// As `#rrggbb`.
    pub fn hex(self) -> &'static str {
        match self {
            Hue::Compute => "#0072B2",
            Hue::Communication => "#E69F00",
            Hue::Copy => "#009E73",
            Hue::Memset => "#56B4E9",
            Hue::Idle => "#B8BEC8",
            Hue::Host => "#CC79A7",
            Hue::Critical => "#D55E00",
            Hue::Nth(n) => OTHERS[n % OTHERS.len()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_colours_are_the_same() {
        let all = Hue::MEANINGFUL.into_iter().chain((0..OTHERS.len()).map(Hue::Nth));
        let mut hexes: Vec<&str> = all.map(Hue::hex).collect();
        let count = hexes.len();
        hexes.sort_unstable();
        hexes.dedup();
        assert_eq!(hexes.len(), count);
        assert_eq!(Hue::Nth(1000).hex(), Hue::Nth(0).hex());
    }
}
