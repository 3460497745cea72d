//! What the questions themselves work out of a trace and share: one of each type, and of each selection.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

type Cell = Arc<OnceLock<Arc<dyn Any + Send + Sync>>>;

#[derive(Default)]
pub(super) struct Derived(Mutex<FxHashMap<(TypeId, u64), Cell>>);

impl Derived {
    /// What was derived before, or what `build` derives now. It may ask for other types meanwhile, but not for its own.
    pub(super) fn get<T: Any + Send + Sync>(&self, selection: u64, build: impl FnOnce() -> T) -> Arc<T> {
        let cell = {
            let mut cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(cells.entry((TypeId::of::<T>(), selection)).or_default())
        };
        let found = cell.get_or_init(|| Arc::new(build()));
        let Ok(found) = Arc::clone(found).downcast() else { unreachable!("cells are kept by type") };
        found
    }
}

impl fmt::Debug for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_tuple("Derived").field(&cells.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_is_derived_once_for_a_selection() {
        let derived = Derived::default();
        assert_eq!(*derived.get(0, || 1u8), 1);
        assert_eq!(*derived.get(0, || 2u8), 1);
        assert_eq!(*derived.get(1, || 3u8), 3);
        // While one is being derived, it may ask for another.
        assert_eq!(*derived.get(0, || u16::from(*derived.get(0, || 4u8)) + 1), 2);
    }
}
