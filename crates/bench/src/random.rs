//! Chance that is the same every time: equal data give equal answers.

/// Of a normal distribution with mean 0 and deviation 1.
#[cfg(test)]
pub(crate) fn normal(random: &mut fastrand::Rng) -> f64 {
    // Box and Muller; 1 - x is never zero.
    let (a, b) = (1.0 - random.f64(), random.f64());
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// Where every random draw of this crate begins.
pub(crate) fn fixed() -> fastrand::Rng {
    fastrand::Rng::with_seed(0x6770_7573_636f_7065)
}
