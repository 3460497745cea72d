//! The collectives whose last rank kept the others waiting longest, and what that rank did instead of coming.
//!
//! Ranks that take part in a collective which all wait for leave it together. From the last such moment that the last
//! and the second last rank of a collective share, each takes its own time until it comes; the difference is how far the
//! last one was behind. That time is split by what the device did: computation, communication that nothing hid, waiting
//! for its host, and the rest (copies, launches, waiting for other streams). Where the last rank has most more than the
//! second last is what it did instead.

use gpuscope_trace::Ns;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::arrivals::Arrivals;
use super::collective::Collective;
use super::matched::{Matched, Part};
use super::sketch::{Sketch, Spent};
use super::text::Text;
use crate::idle::Cause;

/// How many are listed.
const LISTED: usize = 20;
/// Those that cost less than this share of what the worst one cost are not worth a line.
const WORTH: f64 = 0.02;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    Computation,
    Communication,
    Host,
    Other,
}

impl Doing {
    pub fn label(self) -> &'static str {
        match self {
            Doing::Computation => "computation",
            Doing::Communication => "communication",
            Doing::Host => "waiting for its host",
            Doing::Other => "other",
        }
    }
}

/// How a rank spent the time since it last was in step with another; the four make up `since_ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Since {
    pub since_ns: Ns,
    pub computation_ns: Ns,
    pub communication_ns: Ns,
    pub host_ns: Ns,
    pub other_ns: Ns,
}

impl Since {
    fn new(since: Ns, from: Spent, to: Spent) -> Since {
        let computation = to.computation - from.computation;
        let communication = to.communication - from.communication;
        let host = to.host - from.host;
        Since {
            since_ns: since,
            computation_ns: computation,
            communication_ns: communication,
            host_ns: host,
            other_ns: since - computation - communication - host,
        }
    }

    /// What there is most more of than in another.
    fn beyond(&self, other: &Since) -> (Doing, Ns) {
        let more = [
            (Doing::Computation, self.computation_ns - other.computation_ns),
            (Doing::Host, self.host_ns - other.host_ns),
            (Doing::Communication, self.communication_ns - other.communication_ns),
            (Doing::Other, self.other_ns - other.other_ns),
        ];
        more.into_iter().reduce(|best, next| if next.1 > best.1 { next } else { best }).unwrap_or(more[3])
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LateRow {
    /// The collective: its earliest start, as written.
    pub start_ns: Ns,
    pub name: Text,
    pub group: Option<Text>,
    pub step: Option<i64>,
    pub late_rank: u32,
    pub second_rank: u32,
    pub behind_ns: Ns,
    /// What the others waited, all together.
    pub waited_ns: Ns,
    /// False if a rank that is not here may have been later still.
    pub complete: bool,
    /// What the late rank did most more of than the second last.
    pub doing: Doing,
    /// How much more.
    pub more_ns: Ns,
    /// The kernel or host event behind most of it.
    pub event: Option<String>,
    /// What kept the host, if that was it.
    pub cause: Option<Cause>,
    /// Whether the times below count from a collective that both left together; else from each one's first GPU work.
    pub in_step: bool,
    pub late: Since,
    pub second: Since,
}

pub(super) fn of(matched: &Matched, arrivals: &Arrivals, sketches: &[Sketch]) -> Vec<LateRow> {
    let mut late: Vec<usize> = (0..matched.len()).filter(|i| is_late(matched, arrivals, *i)).collect();
    let behind = |i: &usize| arrivals.last[*i].map_or(Ns::ZERO, |last| last.behind);
    // Stable, so that of equal ones the first is first.
    late.sort_by_key(|i| std::cmp::Reverse(behind(i)));
    late.truncate(LISTED);
    let worst = late.first().map_or(Ns::ZERO, behind);
    late.retain(|i| behind(i).as_f64() >= worst.as_f64() * WORTH);
    if late.is_empty() {
        return Vec::new();
    }
    let looking =
        Looking { matched, sketches, by_rank: matched.by_rank(), collective_of: matched.collective_of() };
    late.into_iter().filter_map(|i| looking.row(i, arrivals)).collect()
}

/// In sends and receives one end is always early.
fn is_late(matched: &Matched, arrivals: &Arrivals, i: usize) -> bool {
    let told = |last: super::Last| last.behind > Ns::ZERO && last.behind >= last.resolution;
    matched.get(i).op().everyone_waits() && arrivals.last[i].is_some_and(told)
}

struct Looking<'a> {
    matched: &'a Matched,
    sketches: &'a [Sketch],
    by_rank: Vec<Vec<u32>>,
    collective_of: Vec<u32>,
}

impl Looking<'_> {
    fn row(&self, i: usize, arrivals: &Arrivals) -> Option<LateRow> {
        let (collective, last) = (self.matched.get(i), arrivals.last[i]?);
        let (late, second) = (&collective.parts()[last.last], &collective.parts()[last.second]);
        let met = self.last_met(late, second);
        let (since, of_second) =
            (self.since(late, met.map(|met| met.0)), self.since(second, met.map(|met| met.1)));
        let (doing, more) = since.beyond(&of_second);
        let (event, cause) = self.event(late, met.map(|met| met.0), doing);
        let waits = &arrivals.waits[collective.first()..][..collective.parts().len()];
        Some(LateRow {
            start_ns: collective.written_start(collective.first_part()),
            name: Text::from(collective.sort().name.as_str()),
            group: named(collective).map(Text::from),
            step: late.step(),
            late_rank: collective.rank(late),
            second_rank: collective.rank(second),
            behind_ns: last.behind,
            waited_ns: waits.iter().copied().sum(),
            complete: collective.complete(),
            doing,
            more_ns: more,
            event,
            cause,
            in_step: met.is_some(),
            late: since,
            second: of_second,
        })
    }

    /// The parts of both ranks in the last collective that they left together before either came to this one.
    fn last_met(&self, late: &Part, second: &Part) -> Option<(&Part, &Part)> {
        let earlier = self.by_rank[late.member as usize][..late.place as usize].iter().rev();
        earlier.map(|place| (*place as usize, &self.matched.parts[*place as usize])).find_map(
            |(place, own)| {
                let collective = self.matched.get(self.collective_of[place] as usize);
                if !collective.op().everyone_waits() || own.end() > late.start {
                    return None;
                }
                let other = collective.parts().iter().find(|part| part.member == second.member)?;
                (other.end() <= second.start
                    && self.on_one_device(own, late)
                    && self.on_one_device(other, second))
                .then_some((own, other))
            },
        )
    }

    fn on_one_device(&self, a: &Part, b: &Part) -> bool {
        let devices = &self.sketches[a.member as usize].device;
        devices[a.place as usize] == devices[b.place as usize]
    }

    /// How a rank spent the time from the end of one part, or from its first work, to the start of another.
    fn since(&self, until: &Part, from: Option<&Part>) -> Since {
        let sketch = &self.sketches[until.member as usize];
        let to = sketch.before[until.place as usize];
        let Some(from) = from else {
            let base = Ns(self.matched.ranks[until.member as usize].base_ns);
            let begun = sketch.span.map_or(until.start, |span| span.start + base);
            return Since::new(until.start - begun, Spent::default(), to);
        };
        let (mut left, exposed) = (sketch.before[from.place as usize], sketch.exposed[from.place as usize]);
        left.communication += exposed;
        left.computation += from.dur - exposed;
        Since::new(until.start - from.end(), left, to)
    }

    /// The event that there was most of on the way.
    fn event(&self, until: &Part, from: Option<&Part>, doing: Doing) -> (Option<String>, Option<Cause>) {
        let sketch = &self.sketches[until.member as usize];
        let first = from.map_or(0, |from| from.place as usize + 1);
        let passed = &sketch.longest[first..=until.place as usize];
        let mut sums: FxHashMap<(u32, Option<Cause>), Ns> = FxHashMap::default();
        for longest in passed {
            let (name, cause, time) = match doing {
                Doing::Computation => match longest.kernel {
                    Some((name, time)) => (name, None, time),
                    None => continue,
                },
                Doing::Host => match longest.host {
                    Some((cause, name, time)) => (name, Some(cause), time),
                    None => continue,
                },
                Doing::Communication | Doing::Other => return (None, None),
            };
            *sums.entry((name, cause)).or_default() += time;
        }
        let most = sums.into_iter().max_by_key(|(key, time)| (*time, std::cmp::Reverse(*key)));
        most.map_or((None, None), |((name, cause), _)| (Some(sketch.names[name as usize].clone()), cause))
    }
}

fn named(collective: Collective<'_>) -> Option<&str> {
    let group = collective.group();
    group.description.as_deref().or(group.name.as_deref())
}
