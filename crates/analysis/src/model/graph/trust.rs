//! How far to trust what rests on a graph.

use gpuscope_trace::{Code, Ns, Quality};

/// A model that leaves more than this share unexplained says so, in thousandths.
const TRUSTED_PER_MILLE: i128 = 20;

/// Says that too much of a time is there because of delays that no edge explains.
pub(crate) fn unexplained_delays(unexplained: Ns, whole: Ns, of: &str) -> Option<Quality> {
    if i128::from(unexplained.0) * 1000 <= i128::from(whole.0) * TRUSTED_PER_MILLE {
        return None;
    }
    let percent = unexplained.pct_of(whole);
    let message = format!(
        "{percent:.1} % of {of} are delays that nothing in the trace explains: work that was ready began later, or \
         a call returned later than what it waited for; a prediction keeps them as they are"
    );
    Some(Quality::new(Code::UnexplainedDelays, 0, message))
}
