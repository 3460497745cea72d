//! Interned text: every distinct string of a trace is stored once and named by a 32-bit handle.

use std::hash::Hasher;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// Names one string of one trace's [`Strings`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StrId(pub u32);

impl StrId {
    /// The empty string, which every [`Strings`] holds first.
    pub const EMPTY: StrId = StrId(0);

    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An arena of distinct strings.
///
/// All text is valid UTF-8: what is not is repaired when it is first seen, and counted.
#[derive(Clone)]
pub struct Strings {
    arena: String,
    /// Where each string ends; it begins where the one before it ends.
    ends: Vec<usize>,
    table: HashTable<(u32, StrId)>,
    repaired: u64,
}

impl Default for Strings {
    fn default() -> Self {
        let mut strings =
            Strings { arena: String::new(), ends: Vec::new(), table: HashTable::new(), repaired: 0 };
        let empty = strings.intern(b"");
        debug_assert_eq!(empty, StrId::EMPTY);
        strings
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

impl Strings {
    #[inline]
    pub fn intern(&mut self, bytes: &[u8]) -> StrId {
        let hash = hash(bytes);
        match self.find(hash, bytes) {
            Some(id) => id,
            None => self.insert(hash, bytes),
        }
    }

    /// The handle of a string that is already here.
    pub fn lookup(&self, text: &str) -> Option<StrId> {
        self.find(hash(text.as_bytes()), text.as_bytes())
    }

    #[inline]
    fn find(&self, hash: u64, bytes: &[u8]) -> Option<StrId> {
        let tag = hash as u32;
        self.table.find(hash, |(t, id)| *t == tag && self.bytes(*id) == bytes).map(|(_, id)| *id)
    }

    #[cold]
    #[inline(never)]
    fn insert(&mut self, hash_of_bytes: u64, bytes: &[u8]) -> StrId {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return self.insert_text(hash_of_bytes, text);
        }
        self.repaired += 1;
        let text = String::from_utf8_lossy(bytes);
        let hash = hash(text.as_bytes());
        self.find(hash, text.as_bytes()).unwrap_or_else(|| self.insert_text(hash, &text))
    }

    fn insert_text(&mut self, hash_of_text: u64, text: &str) -> StrId {
        let id = StrId(u32::try_from(self.ends.len()).expect("fewer than 2^32 distinct strings"));
        self.arena.push_str(text);
        self.ends.push(self.arena.len());
        let (arena, ends) = (&self.arena, &self.ends);
        self.table.insert_unique(hash_of_text, (hash_of_text as u32, id), |(_, id)| {
            hash(&arena.as_bytes()[span(ends, *id)])
        });
        id
    }

    #[inline]
    fn bytes(&self, id: StrId) -> &[u8] {
        &self.arena.as_bytes()[span(&self.ends, id)]
    }

    /// The text of a handle; a handle of another trace's strings may give any text, or "".
    pub fn get(&self, id: StrId) -> &str {
        if id.index() < self.ends.len() { &self.arena[span(&self.ends, id)] } else { "" }
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never true: the empty string is always here.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (StrId, &str)> {
        (0..self.ends.len() as u32).map(|i| (StrId(i), self.get(StrId(i))))
    }

    /// How many times text that was not UTF-8 was met and repaired.
    pub fn repaired(&self) -> u64 {
        self.repaired
    }

    /// Bytes of memory in use.
    pub fn heap_bytes(&self) -> usize {
        self.arena.capacity() + self.ends.capacity() * size_of::<usize>() + self.table.allocation_size()
    }
}

#[inline]
fn span(ends: &[usize], id: StrId) -> std::ops::Range<usize> {
    let i = id.index();
    let start = if i == 0 { 0 } else { ends[i - 1] };
    start..ends[i]
}

impl std::fmt::Debug for Strings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Strings")
            .field("len", &self.len())
            .field("bytes", &self.arena.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_text_has_one_handle() {
        let mut strings = Strings::default();
        let a = strings.intern(b"aten::mm");
        assert_eq!(strings.intern(b"aten::mm"), a);
        assert_ne!(strings.intern(b"aten::m"), a);
        assert_eq!(strings.get(a), "aten::mm");
        assert_eq!(strings.intern(b""), StrId::EMPTY);
        assert_eq!(strings.lookup("aten::mm"), Some(a));
        assert_eq!(strings.lookup("nothing"), None);
    }

    #[test]
    fn text_that_is_not_utf8_is_repaired_and_counted() {
        let mut strings = Strings::default();
        let a = strings.intern(b"bad \xff name");
        assert_eq!(strings.get(a), "bad \u{fffd} name");
        assert_eq!(strings.intern(b"bad \xff name"), a);
        assert_eq!(strings.repaired(), 2);
    }
}
