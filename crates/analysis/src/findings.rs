//! What is slow, why, and what would it be worth to change it?
//!
//! Each rule is a small function from the facts of a job to findings. A finding's gain is what a step would take less
//! with its cause gone, found by running the job again on paper (see `whatif`): never a sum of durations, and never
//! time that is merely exposed. It is taken over all whole steps, outliers included, so that a stall in one step out of
//! ten counts for a tenth. What is worth less than two per cent is not reported: no job is perfect.
//!
//! A finding counts only what passes its sentence to the letter, and has those counts and times as numbers (`claim`).
//! Where the gain rests on dependencies that the trace does not state, or on whether communication with ranks that are
//! not here was transfer or waiting, it is a range.

mod bandwidth;
mod causes;
mod communication;
mod decode;
mod drift;
mod efficiency;
mod experts;
mod first_step;
mod lead;
pub(crate) mod marks;
mod memory;
mod start_up;
mod stragglers;
mod work;

use std::collections::BTreeMap;

use gpuscope_trace::metadata::Recorder;
use gpuscope_trace::{Class, Ns, View};
use serde::Serialize;

use crate::breakdown::FirstSteps;
use crate::collectives::CollectivesAnswer;
use crate::idle::IdleAnswer;
use crate::memory::MemoryAnswer;
use crate::model::graph::{Alone, Scenario};
use crate::model::job::JobModel;

pub(crate) use decode::ID as DECODE_HOST_BOUND;
pub(crate) use first_step::ID as FIRST_STEP;
pub(crate) use lead::ID as LEAD;
pub(crate) use start_up::ID as START_UP;
pub(crate) use stragglers::ID as STRAGGLER;

/// Findings worth less than this share of a step are not reported.
const WORTH_PCT: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    Low,
    Medium,
    High,
}

impl Confidence {
    pub fn label(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// Where to see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The ranks it concerns; empty for all.
    pub ranks: Vec<u32>,
    /// Where it is largest.
    pub step: Option<i64>,
    /// A place to look at: a rank, and when on its clock.
    pub rank: Option<u32>,
    pub start_ns: Option<Ns>,
    pub end_ns: Option<Ns>,
    /// What ran, or what was waited in.
    pub names: Vec<String>,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Stable, for scripts.
    pub id: &'static str,
    pub title: String,
    /// The counts and times that the title states.
    pub claim: Claim,
    pub evidence: Evidence,
    pub confidence: Confidence,
    /// Why the confidence is not high.
    pub caveat: Option<String>,
    pub advice: &'static str,
    /// What a step would take less, if it costs time at all.
    #[serde(serialize_with = "or_zero")]
    pub gain_ns: Option<Ns>,
    /// The same if all that is inferred goes the other way.
    #[serde(serialize_with = "or_zero")]
    pub gain_low_ns: Option<Ns>,
    #[serde(serialize_with = "or_zero")]
    pub gain_high_ns: Option<Ns>,
    #[serde(serialize_with = "or_zero")]
    pub gain_pct: Option<f64>,
    /// The command that shows the evidence, without the paths.
    pub command: String,
    #[serde(skip)]
    pub(crate) without: Option<Box<Without>>,
}

/// Scripts compare gains without asking whether there is one.
#[expect(clippy::ref_option, reason = "serde asks for a reference")]
fn or_zero<T: Serialize + Default + Copy, S: serde::Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    value.unwrap_or_default().serialize(serializer)
}

/// Numbers by what they are: counts, and times whose name ends in `_ns`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Claim(pub BTreeMap<&'static str, i64>);

impl Claim {
    pub(crate) fn new(numbers: impl IntoIterator<Item = (&'static str, i64)>) -> Claim {
        Claim(numbers.into_iter().collect())
    }
}

/// The job with a finding's cause gone, and what there is to gain by that at most.
#[derive(Clone, Debug)]
pub(crate) struct Without {
    scenario: Scenario,
    /// Another way to see the same, which may bring less once other causes are gone too.
    or: Option<Scenario>,
    most: Ns,
}

impl PartialEq for Without {
    fn eq(&self, _: &Without) -> bool {
        true
    }
}

/// What was recorded, as far as words and trust depend on it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Program {
    pub recorder: Recorder,
    /// It calls operators of `PyTorch`.
    pub uses_torch: bool,
    /// Stacks or memory were recorded, which slows the host down.
    pub host_slowed: bool,
}

impl Program {
    pub(crate) fn of(view: View<'_>) -> Program {
        let recorder = view.trace.metadata.recorder;
        let has =
            |class: fn(Class) -> bool| view.trace.tags.iter().any(|tag| class(tag.class) && tag.elements > 0);
        Program {
            recorder,
            uses_torch: recorder == Recorder::TorchProfiler || has(|class| class == Class::Operator),
            host_slowed: has(|class| matches!(class, Class::PythonFrame | Class::HostInstant)),
        }
    }

    /// Of all ranks together.
    pub(crate) fn with(self, other: Program) -> Program {
        Program {
            recorder: self.recorder.max(other.recorder),
            uses_torch: self.uses_torch || other.uses_torch,
            host_slowed: self.host_slowed || other.host_slowed,
        }
    }

    /// Advice in the words of `PyTorch`, or of CUDA itself for other programs.
    pub(crate) fn either(self, torch: &'static str, cuda: &'static str) -> &'static str {
        if self.uses_torch { torch } else { cuda }
    }
}

/// What rules may look at.
pub(crate) struct Facts<'a> {
    pub model: &'a JobModel,
    /// The step time of the median rank, as `breakdown` has it.
    pub step: Ns,
    pub idle: &'a IdleAnswer,
    pub memory: &'a MemoryAnswer,
    pub collectives: &'a CollectivesAnswer,
    pub stragglers: &'a crate::stragglers::StragglersAnswer,
    pub marked: &'a [marks::RankMarks],
    /// Marks that some work or wait has.
    pub marks_seen: u32,
    pub program: Program,
    /// Some communication has no counterpart here.
    pub alone: bool,
    /// Streams are only inferred to have waited for others.
    pub infers_waits: bool,
}

type Rule = fn(&Facts<'_>) -> Vec<Finding>;

/// Each with the ids of what it may find.
const RULES: &[(&[&str], Rule)] = &[
    (&[lead::ID], lead::host_comes_first),
    (&[first_step::ID], first_step::first_step),
    (&[start_up::ID], start_up::start_up),
    (&causes::IDS, causes::host_bound),
    (&[causes::ALL_WAITS], causes::all_waits),
    (&[decode::ID], decode::host_bound),
    (&[communication::ID], communication::exposed),
    (&[bandwidth::ID], bandwidth::slow_links),
    (&[experts::ID], experts::expert_imbalance),
    (&[stragglers::ID], stragglers::late_ranks),
    (&[work::SMALL_KERNELS], work::small_kernels),
    (&[work::UNPINNED_COPIES], work::unpinned_copies),
    (&[work::LOW_OCCUPANCY], work::low_occupancy),
    (&[work::RECOMPUTATION], work::recomputation),
    (crate::model::efficiency::IDS, efficiency::cheaper_work),
    (&[memory::NEAR_LIMIT], memory::near_limit),
    (&[memory::FRAGMENTED], memory::fragmented),
    (&[drift::THROTTLED, drift::DRIFT], drift::slower_over_time),
];

/// The ids of all findings there are, each of which has a section in `docs/findings.md`.
pub fn ids() -> impl Iterator<Item = &'static str> {
    RULES.iter().flat_map(|(ids, _)| ids.iter().copied())
}

fn found_by(rule: &(&[&str], Rule), facts: &Facts<'_>) -> Vec<Finding> {
    let (ids, find) = rule;
    let findings = find(facts);
    debug_assert!(findings.iter().all(|finding| ids.contains(&finding.id)), "{findings:?}");
    findings
}

/// All findings, the most worthwhile first, and what removing all of them together would bring.
pub(crate) fn find(facts: &Facts<'_>) -> (Vec<Finding>, Option<Ns>) {
    let findings: Vec<Finding> = RULES.iter().flat_map(|rule| found_by(rule, facts)).collect();
    let mut findings = without_consequences(findings);
    // What costs no time comes last, as it stands in the rules.
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.gain_ns));
    // Only for what is listed: each takes a replay or two.
    for finding in &mut findings {
        facts.find_range(finding);
    }
    if let Some((first, last)) = facts.model.first_steps().map(FirstSteps::explained) {
        // What a command shows is what the finding is about.
        for finding in findings.iter_mut().filter(|finding| finding.id != first_step::ID) {
            finding.command = format!("{} --step {first}..{last}", finding.command);
        }
    }
    let gain = joint_gain(facts, &findings);
    (findings, gain)
}

fn joint_gain(facts: &Facts<'_>, findings: &[Finding]) -> Option<Ns> {
    let worth: Vec<&Finding> = findings.iter().filter(|finding| finding.without.is_some()).collect();
    if let [only] = worth[..] {
        return only.gain_ns;
    }
    let all = |each: fn(&Without) -> &Scenario| {
        let scenarios = worth.iter().filter_map(|finding| finding.without.as_deref()).map(each);
        let all = scenarios.cloned().reduce(|all, next| all.and(&next));
        all.map(|all| facts.saved(&all))
    };
    let gain = all(|without| &without.scenario)?;
    let may_be_less =
        worth.iter().any(|finding| finding.without.as_ref().is_some_and(|without| without.or.is_some()));
    let less = may_be_less.then(|| all(|without| without.or.as_ref().unwrap_or(&without.scenario))).flatten();
    let largest = worth.iter().filter_map(|finding| finding.gain_ns).max();
    Some(less.map_or(gain, |less| less.min(gain))).max(largest)
}

/// A rank that is late because of something that is found by itself is not reported twice, and neither are operators
/// that take long because there are so many for so little work.
fn without_consequences(mut findings: Vec<Finding>) -> Vec<Finding> {
    let explained: Vec<u32> = findings
        .iter()
        .filter(|finding| finding.id != stragglers::ID)
        .filter_map(|finding| match finding.evidence.ranks[..] {
            [only] => Some(only),
            _ => None,
        })
        .collect();
    let is_explained = |finding: &Finding| finding.evidence.ranks.iter().all(|rank| explained.contains(rank));
    findings.retain(|finding| finding.id != stragglers::ID || !is_explained(finding));
    let small = gain_of(&findings, work::SMALL_KERNELS);
    let operators = gain_of(&findings, causes::OPERATORS);
    if small.is_some_and(|small| operators.is_some_and(|all| all.0 / 2 <= small.0)) {
        findings.retain(|finding| finding.id != causes::OPERATORS);
    }
    // What graphs would cure is one finding where it is about decode steps.
    if let Some(decode) = gain_of(&findings, decode::ID) {
        let same = [causes::OPERATORS, causes::PYTHON, work::SMALL_KERNELS];
        let is_same = |finding: &Finding| {
            same.contains(&finding.id) && finding.gain_ns.is_some_and(|gain| gain.0 / 2 <= decode.0)
        };
        findings.retain(|finding| !is_same(finding));
    }
    findings
}

fn gain_of(findings: &[Finding], id: &str) -> Option<Ns> {
    findings.iter().find(|finding| finding.id == id).and_then(|finding| finding.gain_ns)
}

impl Facts<'_> {
    /// What a step takes less in a scenario, if it is worth speaking of.
    fn gain(&self, scenario: &Scenario) -> Option<Gain> {
        Some(self.any_gain(scenario)).filter(|gain| gain.pct >= WORTH_PCT)
    }

    /// Whether so much less to do, over all ranks and steps, could be worth speaking of.
    fn could_matter(&self, less: Ns) -> bool {
        // The first step is no measure of what the others gain, so it does not count.
        let steps = self.model.ranks.iter().map(|rank| rank.steps.len()).min().unwrap_or(0);
        let all = Ns(self.step.0.saturating_mul(steps.saturating_sub(1).max(1) as i64));
        less.pct_of(all) >= WORTH_PCT
    }

    fn any_gain(&self, scenario: &Scenario) -> Gain {
        let ns = self.saved(scenario);
        Gain { ns, pct: ns.pct_of(self.step), most: self.step }
    }

    fn saved(&self, scenario: &Scenario) -> Ns {
        self.step - self.model.step_time(scenario)
    }

    /// What a finding gains if what is inferred, or not known of absent ranks, goes the other way.
    fn find_range(&self, finding: &mut Finding) {
        let (Some(gain), Some(Without { scenario, most, .. })) =
            (finding.gain_ns, finding.without.as_deref())
        else {
            return;
        };
        let inferred_stays = if self.infers_waits {
            self.saved(&Scenario { keep_inferred: true, ..scenario.clone() })
        } else {
            gain
        };
        let others_wait =
            if self.alone { self.saved(&Scenario { alone: Alone::Waits, ..scenario.clone() }) } else { gain };
        finding.gain_low_ns = Some(gain.min(inferred_stays).min(others_wait));
        finding.gain_high_ns = Some(gain.max(others_wait).min(*most));
    }

    fn ranks(&self) -> impl Iterator<Item = u32> {
        self.model.ranks.iter().map(|model| model.rank)
    }

    /// What a finding about the host can be trusted.
    fn about_host(&self) -> (Confidence, Option<String>) {
        if self.program.host_slowed {
            let why = "recording stacks or memory slows the host down, so this is an upper bound";
            (Confidence::Medium, Some(why.to_owned()))
        } else {
            (Confidence::High, None)
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Gain {
    ns: Ns,
    pct: f64,
    /// All that there is to gain.
    most: Ns,
}

impl Gain {
    /// No more than a time that is all there is to gain, if that is still worth speaking of.
    fn at_most(self, most: Ns, step: Ns) -> Option<Gain> {
        let ns = self.ns.min(most);
        let gain = Gain { ns, pct: ns.pct_of(step), most: self.most.min(most) };
        Some(gain).filter(|gain| gain.pct >= WORTH_PCT)
    }
}

impl Finding {
    fn new(id: &'static str, title: String, advice: &'static str, command: String) -> Finding {
        Finding {
            id,
            title,
            claim: Claim::default(),
            evidence: Evidence::default(),
            confidence: Confidence::High,
            caveat: None,
            advice,
            gain_ns: None,
            gain_low_ns: None,
            gain_high_ns: None,
            gain_pct: None,
            command,
            without: None,
        }
    }

    fn claiming(mut self, numbers: impl IntoIterator<Item = (&'static str, i64)>) -> Finding {
        self.claim = Claim::new(numbers);
        self
    }

    fn shown_by(mut self, evidence: Evidence) -> Finding {
        self.evidence = evidence;
        self
    }

    fn trusted(mut self, confidence: Confidence, caveat: Option<String>) -> Finding {
        (self.confidence, self.caveat) = (confidence, caveat);
        self
    }

    fn worth(mut self, gain: Gain, without: Scenario) -> Finding {
        (self.gain_ns, self.gain_pct) = (Some(gain.ns), Some(gain.pct));
        self.without = Some(Box::new(Without { scenario: without, or: None, most: gain.most }));
        self
    }

    /// It brings no more than this would.
    fn or(mut self, scenario: Scenario) -> Finding {
        if let Some(without) = &mut self.without {
            without.or = Some(scenario);
        }
        self
    }
}

/// `--rank 3` for one rank, nothing for several.
fn rank_flag(ranks: &[u32]) -> String {
    match ranks {
        [only] => format!(" --rank {only}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use gpuscope_testkit::findings_page;

    #[test]
    fn every_finding_has_its_section_in_the_documentation() {
        let mut ids: Vec<&str> = super::ids().collect();
        ids.sort_unstable();
        let page = findings_page();
        assert_eq!(ids, page.keys().map(String::as_str).collect::<Vec<_>>());
    }
}
