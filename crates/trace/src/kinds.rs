//! Computation, communication or memory traffic: the kind of a GPU event, by category and name.

use serde::{Deserialize, Serialize};

use crate::class::Class;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Computation,
    Communication,
    Memcpy,
    Memset,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Computation, Kind::Communication, Kind::Memcpy, Kind::Memset];
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Match {
    Contains,
    Exact,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    kind: Kind,
    #[serde(rename = "match")]
    how: Match,
    names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    #[serde(default)]
    rule: Vec<Rule>,
}

/// The rules by which names are sorted into kinds.
#[derive(Clone, Debug)]
pub struct KindRules(Vec<Rule>);

impl Default for KindRules {
    fn default() -> Self {
        KindRules::parse(include_str!("kinds.toml")).expect("the built-in rules parse; a test holds that")
    }
}

impl KindRules {
    /// Reads rules written like the built-in `kinds.toml`. The message of an error names line and column.
    pub fn parse(text: &str) -> Result<KindRules, String> {
        let file: RuleFile = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut rules = file.rule;
        for rule in &mut rules {
            if matches!(rule.how, Match::Contains) {
                rule.names.iter_mut().for_each(|name| name.make_ascii_lowercase());
            }
        }
        Ok(KindRules(rules))
    }

    /// These rules first, then `after`.
    #[must_use]
    pub fn before(mut self, after: KindRules) -> KindRules {
        self.0.extend(after.0);
        self
    }

    /// The kind of a GPU event, or `None` if the event is no GPU work after all.
    pub fn kind(&self, class: Class, name: &str) -> Option<Kind> {
        if class == Class::MtiaDevice && matches!(name, "event_wait" | "event_record") {
            return None;
        }
        let by_class = match class {
            Class::GpuMemcpy => Kind::Memcpy,
            Class::GpuMemset => Kind::Memset,
            Class::MtiaDevice if name.starts_with("dma") => Kind::Memcpy,
            Class::XlaDevice => xla_kind(name),
            Class::Kernel | Class::MtiaDevice => Kind::Computation,
            _ => return None,
        };
        if matches!((class, by_class), (Class::XlaDevice, Kind::Memcpy | Kind::Memset)) {
            return Some(by_class);
        }
        let lower = name.to_ascii_lowercase();
        let plain = name.strip_suffix(".kd").unwrap_or(name);
        let rule = self.0.iter().find(|rule| match rule.how {
            Match::Contains => rule.names.iter().any(|part| lower.contains(part.as_str())),
            Match::Exact => rule.names.iter().any(|whole| plain == whole),
        });
        Some(rule.map_or(by_class, |rule| rule.kind))
    }
}

fn xla_kind(name: &str) -> Kind {
    let lower = name.to_ascii_lowercase();
    let copy = ["memcpy", "copyhosttohost", "copyhosttodevice", "copydevicetohost", "copydevicetodevice"];
    if copy.iter().any(|prefix| lower.starts_with(prefix)) {
        Kind::Memcpy
    } else if lower.starts_with("memset") {
        Kind::Memset
    } else {
        Kind::Computation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(class: Class, name: &str) -> Option<Kind> {
        KindRules::default().kind(class, name)
    }

    #[test]
    fn communication_is_known_by_name_in_any_case_and_category() {
        for name in
            ["ncclDevKernel_AllReduce", "void RCCL_x", "multimem_all_reduce_one", "two_shot_all_reduce_k"]
        {
            assert_eq!(kind(Class::Kernel, name), Some(Kind::Communication), "{name}");
        }
        assert_eq!(kind(Class::GpuMemcpy, "nccl copy"), Some(Kind::Communication));
    }

    #[test]
    fn copy_and_fill_kernels_of_rocm_are_memory_traffic_only_by_whole_name() {
        assert_eq!(kind(Class::Kernel, "__amd_rocclr_copyBufferRectAligned.kd"), Some(Kind::Memcpy));
        assert_eq!(kind(Class::Kernel, "__amd_rocclr_fillBuffer"), Some(Kind::Memset));
        assert_eq!(kind(Class::Kernel, "my__amd_rocclr_copyBuffer"), Some(Kind::Computation));
    }

    #[test]
    fn mtia_waits_are_not_work() {
        assert_eq!(kind(Class::MtiaDevice, "event_wait"), None);
        assert_eq!(kind(Class::MtiaDevice, "dma_in"), Some(Kind::Memcpy));
        assert_eq!(kind(Class::MtiaDevice, "matmul"), Some(Kind::Computation));
    }

    #[test]
    fn rules_of_a_user_come_first() {
        let text = "[[rule]]\nkind = \"communication\"\nmatch = \"contains\"\nnames = [\"DeepEP\"]\n";
        let rules = KindRules::parse(text).unwrap().before(KindRules::default());
        assert_eq!(rules.kind(Class::Kernel, "void deepep::dispatch"), Some(Kind::Communication));
        assert!(KindRules::parse("[[rule]]\nkind = \"magic\"").unwrap_err().contains("line 2"));
    }
}
