//! Sizes as people write them: `240MB`, `1.5MB`, `1GB`. Units are decimal, as in the command line's `demo --bytes`.

use anyhow::{Context, Result, bail};

pub(crate) fn parse(text: &str) -> Result<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1.0,
        "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        other => bail!("`{text}`: unknown unit `{other}`; use B, KB, MB or GB"),
    };
    let number: f64 = digits.parse().with_context(|| format!("`{text}` is not a size such as 240MB"))?;
    if !(number.is_finite() && number > 0.0) {
        bail!("`{text}`: a size must be positive");
    }
    Ok((number * unit).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sizes() {
        assert_eq!(parse("240MB").unwrap(), 240_000_000);
        assert_eq!(parse("1.5MB").unwrap(), 1_500_000);
        assert_eq!(parse("1gb").unwrap(), 1_000_000_000);
        assert_eq!(parse("17").unwrap(), 17);
        for bad in ["", "MB", "-1MB", "1TB", "1..5MB", "0"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
