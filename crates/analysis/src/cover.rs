//! How much time intervals cover together, found in one walk over them in order of their start.
//!
//! Lengths of unions are all that the questions need: what one set covers and another does not is the length of
//! both together less that of the other, and what two share is the sum of their lengths less that of both.

use gpuscope_trace::{Interval, Ns};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cover {
    len: Ns,
    until: Ns,
}

impl Default for Cover {
    fn default() -> Self {
        Cover { len: Ns::ZERO, until: Ns(i64::MIN) }
    }
}

impl Cover {
    /// Takes in an interval that starts no earlier than those before it.
    #[inline]
    pub(crate) fn add(&mut self, time: Interval) {
        let from = time.start.max(self.until);
        if from < time.end {
            self.len += time.end - from;
            self.until = time.end;
        }
    }

    pub(crate) fn len(&self) -> Ns {
        self.len
    }

    /// Where the last covered stretch ends.
    pub(crate) fn until(&self) -> Ns {
        self.until
    }
}
