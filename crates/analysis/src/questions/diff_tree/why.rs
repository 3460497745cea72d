//! Why the GPU time of a row changed, as far as two sums tell.

use serde::Serialize;

use super::PathSide;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Within one percent.
    Same,
    OnlyA,
    OnlyB,
    /// More operations explain more of the change than their speed.
    MoreWork,
    LessWork,
    /// The same with GPU events for operations, where these are not known.
    MoreEvents,
    FewerEvents,
    /// What took most of the time in one run did not run in the other.
    OtherKernels,
    Slower,
    Faster,
}

impl Why {
    pub fn label(self) -> &'static str {
        match self {
            Why::Same => "same",
            Why::OnlyA => "only in A",
            Why::OnlyB => "only in B",
            Why::MoreWork => "more work",
            Why::LessWork => "less work",
            Why::MoreEvents => "more events",
            Why::FewerEvents => "fewer events",
            Why::OtherKernels => "other kernels",
            Why::Slower => "slower",
            Why::Faster => "faster",
        }
    }

    pub(super) fn between(a: &PathSide, b: &PathSide) -> Why {
        Why::between_per(a, b, [1, 1])
    }

    /// Where each side is so many times a thing that is compared, such as a step.
    pub(crate) fn between_per(a: &PathSide, b: &PathSide, per: [u64; 2]) -> Why {
        let [a_per, b_per] = per.map(|times| times.max(1) as f64);
        let (was, is) = (a.gpu_ns.as_f64() / a_per, b.gpu_ns.as_f64() / b_per);
        let (work, more, less) = match (a.gflops, b.gflops) {
            (Some(a), Some(b)) => (b / a, Why::MoreWork, Why::LessWork),
            _ => (b.count as f64 / a.count as f64, Why::MoreEvents, Why::FewerEvents),
        };
        let work = work * a_per / b_per;
        // What B would have taken for its work at the speed of A.
        let at_speed_of_a = was * work;
        let (by_work, by_speed) = (at_speed_of_a - was, is - at_speed_of_a);
        match () {
            () if b.count == 0 => Why::OnlyA,
            () if a.count == 0 => Why::OnlyB,
            () if is_about(was, is) => Why::Same,
            () if by_work.abs() > by_speed.abs() && by_work > 0.0 => more,
            () if by_work.abs() > by_speed.abs() => less,
            () if is_missing(a, b) || is_missing(b, a) => Why::OtherKernels,
            () if is > was => Why::Slower,
            () => Why::Faster,
        }
    }
}

fn is_about(a: f64, b: f64) -> bool {
    100.0 * (a - b).abs() <= a.max(b)
}

/// Whether what took most of the time on one side is not on the other.
fn is_missing(of: &PathSide, from: &PathSide) -> bool {
    of.parts.first().is_some_and(|most| from.parts.iter().all(|part| part.name != most.name))
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::Ns;

    use super::super::Part;
    use super::*;

    fn side(count: u64, ns: i64, gflops: impl Into<Option<f64>>, kernel: &str) -> PathSide {
        let parts = vec![Part { name: kernel.to_owned(), gpu_ns: Ns(ns) }];
        PathSide { count, gpu_ns: Ns(ns), gflops: gflops.into(), parts }
    }

    #[test]
    fn more_work_and_the_same_work_more_slowly_are_told_apart() {
        let a = side(10, 1000, 5.0, "gemm");
        for (b, why) in [
            (side(10, 1005, 5.0, "gemm"), Why::Same),
            (side(10, 2000, 10.0, "gemm"), Why::MoreWork),
            (side(20, 2000, 5.0, "gemm"), Why::Slower),
            (side(10, 2000, 5.5, "gemm"), Why::Slower),
            (side(10, 2000, 5.0, "igemm"), Why::OtherKernels),
            (side(10, 500, 2.5, "gemm"), Why::LessWork),
            (side(10, 500, 5.0, "gemm"), Why::Faster),
            // Twice the work in the same time, and then some.
            (side(10, 1100, 10.0, "gemm"), Why::MoreWork),
            (side(10, 900, 10.0, "gemm"), Why::Faster),
            (side(20, 2000, None, "gemm"), Why::MoreEvents),
            (side(5, 500, None, "gemm"), Why::FewerEvents),
            (side(10, 2000, None, "gemm"), Why::Slower),
            (PathSide::default(), Why::OnlyA),
        ] {
            assert_eq!(Why::between(&a, &b), why, "{b:?}");
        }
        assert_eq!(Why::between(&PathSide::default(), &a), Why::OnlyB);
        let none = side(1, 0, None, "gemm");
        assert_eq!(Why::between(&none, &none), Why::Same);
    }
}
