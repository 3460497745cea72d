//! Phase and category of an event, interned together: a trace has a few dozen pairs at most.

use rustc_hash::FxHashMap;

use crate::class::Class;
use crate::strings::{StrId, Strings};

/// Names one [`Tag`] of one trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TagId(pub u32);

/// The `ph` of a Chrome trace event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// `X`, or a `B` and `E` that found each other.
    Complete,
    Begin,
    End,
    Instant,
    Counter,
    Metadata,
    FlowStart,
    FlowStep,
    FlowEnd,
    #[default]
    Other,
}

impl Phase {
    pub fn of(text: &[u8]) -> Phase {
        match text {
            b"X" => Phase::Complete,
            b"B" => Phase::Begin,
            b"E" => Phase::End,
            b"i" | b"I" | b"R" => Phase::Instant,
            b"C" => Phase::Counter,
            b"M" => Phase::Metadata,
            b"s" => Phase::FlowStart,
            b"t" => Phase::FlowStep,
            b"f" => Phase::FlowEnd,
            _ => Phase::Other,
        }
    }

    pub fn is_flow(self) -> bool {
        matches!(self, Phase::FlowStart | Phase::FlowStep | Phase::FlowEnd)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Tag {
    pub phase: Phase,
    pub category: StrId,
    pub class: Class,
    /// Elements of the file with this tag.
    pub elements: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Tags {
    tags: Vec<Tag>,
    by_key: FxHashMap<(Phase, StrId), TagId>,
}

impl Tags {
    pub fn intern(&mut self, phase: Phase, category: StrId, strings: &Strings) -> TagId {
        if let Some(id) = self.by_key.get(&(phase, category)) {
            return *id;
        }
        let id = TagId(self.tags.len() as u32);
        self.tags.push(Tag { phase, category, class: Class::of(strings.get(category)), elements: 0 });
        self.by_key.insert((phase, category), id);
        id
    }

    #[inline]
    pub fn get(&self, id: TagId) -> &Tag {
        &self.tags[id.0 as usize]
    }

    #[inline]
    pub(crate) fn count(&mut self, id: TagId) -> &Tag {
        let tag = &mut self.tags[id.0 as usize];
        tag.elements += 1;
        tag
    }

    /// Sets how many elements each tag has.
    pub(crate) fn recount(&mut self, elements: impl Fn(TagId) -> u64) {
        for (i, tag) in self.tags.iter_mut().enumerate() {
            tag.elements = elements(TagId(i as u32));
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Tag> {
        self.tags.iter()
    }
}
