//! What ran where, and how it was recorded, in one line.

use gpuscope_analysis::dossier::DossierAnswer;

pub(crate) fn of(dossier: &DossierAnswer) -> String {
    let ranks = &dossier.info.ranks;
    let mut models: Vec<&str> =
        ranks.iter().flat_map(|rank| &rank.devices).filter_map(|device| device.name.as_deref()).collect();
    models.retain(|name| !name.trim().is_empty());
    models.sort_unstable();
    models.dedup();
    let mut hosts: Vec<&str> = ranks.iter().filter_map(|rank| rank.host_name.as_deref()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let counted = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let mut parts = vec![if models.is_empty() { "unnamed GPUs".to_owned() } else { models.join(", ") }];
    parts.push(counted(ranks.len(), "rank"));
    if !hosts.is_empty() {
        parts.push(counted(hosts.len(), "host"));
    }
    if let Some(first) = ranks.first() {
        parts.extend(first.versions.iter().map(|(name, version)| versioned(name, version)).take(4));
        let recording = &first.recording;
        let options = [
            (recording.shapes, "shapes"),
            (recording.stacks, "stacks"),
            (recording.memory, "memory"),
            (recording.modules, "modules"),
            (recording.flops, "FLOPs"),
        ];
        let on: Vec<&str> =
            options.into_iter().filter(|(on, _)| *on == Some(true)).map(|(_, name)| name).collect();
        if !on.is_empty() {
            parts.push(format!("recorded with {}", on.join(", ")));
        }
    }
    let used = dossier.analyze.breakdown.ranks.first().and_then(|rank| rank.step_time.as_ref());
    if let Some(used) = used {
        let steps = dossier.analyze.step.steps;
        let s = if steps == 1 { "" } else { "s" };
        parts.push(format!("{} of {steps} step{s} used", used.steps_used));
    }
    parts.join(" · ")
}

/// `cuda_runtime_version` 12060 is known to people as CUDA runtime 12.6.
fn versioned(name: &str, version: &str) -> String {
    let name = name.strip_suffix("_version").unwrap_or(name).replace('_', " ");
    let name =
        ["cuda", "cupti", "nccl"].iter().fold(name, |name, word| name.replace(word, &word.to_uppercase()));
    match version.parse::<u32>() {
        Ok(number) if name.starts_with("CUDA") && number >= 1_000 => {
            format!("{name} {}.{}", number / 1_000, number % 1_000 / 10)
        }
        _ => format!("{name} {version}"),
    }
}
