//! One world: the first command, the tests, the developers' commands and the wheel compile each crate once.
//!
//! Cargo compiles a dependency again for every other set of features, and all that rests on it. What several builds disagree
//! on is asked for in `crates/features`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Result, ensure};

use crate::steps::Outcome;
use crate::workspace::{Artifact, Workspace};

/// By the words that make cargo do them.
const BUILDS: [&[&str]; 4] = [
    &["build", "--release"],
    &["build", "--release", "--package", "xtask"],
    &["test", "--release", "--workspace", "--no-run"],
    // Maturin links the library of the wheel by itself.
    &["build", "--release", "--package", "gpuscope-python"],
];

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let mut artifacts = Vec::new();
    for words in BUILDS {
        artifacts.extend(workspace.build(words)?);
    }
    let twice = twice(&artifacts);
    ensure!(
        twice.is_empty(),
        "compiled more than once, as builds ask for other features: {}. `cargo tree --edges features --invert NAME` tells who \
         asks for which; crates/features/Cargo.toml is where all builds ask for the same",
        twice.join(", ")
    );
    Ok(Outcome::Done)
}

/// Libraries that occur in more than one form. Tests of a library are another thing than the library, and so is what runs
/// while building, which is not optimised.
fn twice(artifacts: &[Artifact]) -> Vec<&str> {
    let mut forms: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for artifact in artifacts.iter().filter(|artifact| !artifact.is_test && artifact.kind != "custom-build") {
        let key = (artifact.id.as_str(), artifact.opt_level.as_str());
        // Its name holds a hash of all that it was made of; the library itself may be named without.
        if let Some(file) = artifact.files.iter().find(|file| is_metadata(file)) {
            forms.entry(key).or_default().insert(file);
        }
    }
    let names = forms.into_iter().filter(|(_, forms)| forms.len() > 1);
    names.map(|((id, _), _)| id.rsplit('/').next().unwrap_or(id)).collect()
}

fn is_metadata(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension == "rmeta")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(name: &str, hash: &str, opt_level: &str, is_test: bool) -> Artifact {
        Artifact {
            id: format!("registry+there/index#{name}@1.0.0"),
            package: name.to_owned(),
            target: name.to_owned(),
            kind: "lib".to_owned(),
            folder: "/there".into(),
            opt_level: opt_level.to_owned(),
            is_test,
            executable: None,
            files: vec![format!("/target/lib{name}.rlib"), format!("/target/lib{name}-{hash}.rmeta")],
        }
    }

    #[test]
    fn a_library_in_two_forms_is_named() {
        let once = [
            library("serde", "a", "3", false),
            library("serde", "a", "3", false),
            library("serde", "b", "0", false),
            library("ours", "c", "3", false),
            library("ours", "d", "3", true),
        ];
        assert!(twice(&once).is_empty());
        let again = [library("libc", "a", "3", false), library("libc", "b", "3", false)];
        assert_eq!(twice(&again), ["index#libc@1.0.0"]);
    }
}
