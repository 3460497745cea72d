//! Which operator is of which family: the built-in models.
//!
//! Operators nest, as `aten::convolution` calls `aten::cudnn_convolution`. Both may be here, since either may
//! be what one looks at; who adds up the work of a trace counts the outermost only.

mod matrix;
mod vector;

use crate::families::Family;

/// Operators that share a category and a way of counting.
pub(crate) struct Group {
    pub(crate) category: &'static str,
    pub(crate) family: Family,
    pub(crate) names: &'static [&'static str],
}

const fn group(category: &'static str, family: Family, names: &'static [&'static str]) -> Group {
    Group { category, family, names }
}

pub(crate) fn groups() -> impl Iterator<Item = &'static Group> {
    matrix::GROUPS.iter().chain(vector::GROUPS)
}

pub(crate) use crate::families::triton::is_compiled;
pub(crate) use vector::COMPILED;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_once() {
        let mut names: Vec<_> = groups().flat_map(|group| group.names).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
