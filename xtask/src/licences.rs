//! `cargo xtask licences`: every dependency must be usable under a permissive licence.
//!
//! The release binary and the wheel carry their dependencies with them, so one copyleft crate would decide the
//! licence of the whole. The list is short on purpose: a new licence is a decision, not an accident.

mod spdx;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::workspace::Workspace;

const ALLOWED: [&str; 11] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Exceptions that only give more rights.
const ALLOWED_EXCEPTIONS: [&str; 1] = ["LLVM-exception"];

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let packages = workspace.metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let faults: Vec<String> = packages.iter().filter_map(fault).collect();
    if faults.is_empty() {
        println!("    {} packages, all under permissive licences", packages.len());
        return Ok(());
    }
    bail!(
        "{} of {} packages:\n  {}\nchoose another crate, or add the licence to xtask/src/licences.rs with a reason",
        faults.len(),
        packages.len(),
        faults.join("\n  ")
    )
}

/// What is wrong with a package's licence, if anything.
fn fault(package: &Value) -> Option<String> {
    let name = format!("{} {}", package["name"].as_str()?, package["version"].as_str()?);
    let Some(text) = package["license"].as_str() else {
        return Some(format!("{name}: its manifest states no licence expression"));
    };
    match spdx::parse(text) {
        Err(error) => Some(format!("{name}: `{text}`: {error}")),
        Ok(expression) if expression.allows(&ALLOWED, &ALLOWED_EXCEPTIONS) => None,
        Ok(_) => Some(format!("{name}: `{text}` is not on the list of permissive licences")),
    }
}

#[cfg(test)]
mod tests {
    use super::fault;
    use serde_json::json;

    #[test]
    fn packages() {
        let package = |licence| json!({"name": "x", "version": "1.0.0", "license": licence});
        assert_eq!(fault(&package(Some("MIT OR GPL-3.0"))), None);
        assert!(fault(&package(Some("GPL-3.0"))).unwrap().starts_with("x 1.0.0: `GPL-3.0`"));
        assert!(fault(&package(Some("MIT AND MPL-2.0"))).is_some());
        assert!(fault(&package(Some("MIT OR"))).is_some());
        assert!(fault(&package(None)).unwrap().contains("states no licence"));
    }
}
