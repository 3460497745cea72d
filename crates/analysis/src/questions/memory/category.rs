//! Which part of training an allocation belongs to, and sums over such parts.

use gpuscope_trace::{Class, MemoryCategory, Row, View};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// When an allocation was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    BeforeRecording,
    DataLoading,
    Forward,
    Backward,
    Optimizer,
    Other,
}

impl Category {
    pub const ALL: [Category; 6] = [
        Category::BeforeRecording,
        Category::DataLoading,
        Category::Forward,
        Category::Backward,
        Category::Optimizer,
        Category::Other,
    ];

    /// By the events around the allocation.
    pub(super) fn of(view: View<'_>, around: &[Row]) -> Category {
        let mut found = Category::Other;
        for row in around {
            let (class, name) = (view.trace.class(*row), view.trace.name(*row));
            match class {
                Class::Annotation if name.starts_with("Optimizer.step#") => return Category::Optimizer,
                Class::Annotation if name.contains("DataLoader") => return Category::DataLoading,
                Class::Operator if name.starts_with("autograd::engine") => return Category::Backward,
                Class::Operator => found = Category::Forward,
                Class::PythonFrame if name.starts_with("nn.Module: ") => found = Category::Forward,
                _ => {}
            }
        }
        found
    }
}

/// A name that stands for a place in a [`ByCategory`].
pub trait Label: Copy {
    fn label(self) -> &'static str;
}

impl Label for Category {
    fn label(self) -> &'static str {
        match self {
            Category::BeforeRecording => "before_recording",
            Category::DataLoading => "data_loading",
            Category::Forward => "forward",
            Category::Backward => "backward",
            Category::Optimizer => "optimizer",
            Category::Other => "other",
        }
    }
}

impl Label for MemoryCategory {
    fn label(self) -> &'static str {
        MemoryCategory::label(self)
    }
}

/// Bytes for each of a few categories; in JSON an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByCategory<L, const N: usize> {
    labels: [L; N],
    bytes: [i64; N],
}

impl<L: Label, const N: usize> ByCategory<L, N> {
    pub(super) fn new(labels: [L; N]) -> Self {
        ByCategory { labels, bytes: [0; N] }
    }

    pub fn iter(&self) -> impl Iterator<Item = (L, i64)> {
        self.labels.into_iter().zip(self.bytes)
    }

    pub fn total(&self) -> i64 {
        self.bytes.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [i64; N] {
        &mut self.bytes
    }

    pub(super) fn raise_to(&mut self, other: &Self) {
        for (highest, bytes) in self.bytes.iter_mut().zip(other.bytes) {
            *highest = bytes.max(*highest);
        }
    }
}

impl<L: Label, const N: usize> Serialize for ByCategory<L, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(N))?;
        for (label, bytes) in self.iter() {
            map.serialize_entry(label.label(), &bytes)?;
        }
        map.end()
    }
}
