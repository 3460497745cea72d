//! Finding the model of an operator by its name.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::Call;
use crate::args::Args;
use crate::families::Family;
use crate::table::GROUPS;
use crate::work::Work;

/// How one operator's work is counted.
#[derive(Clone, Debug)]
pub struct Model {
    category: &'static str,
    family: Family,
}

impl Model {
    /// The operator's category, such as `GEMM` or `SDPA_bwd`.
    pub fn category(&self) -> &str {
        self.category
    }

    /// What this call must do; absent if its arguments do not tell.
    pub fn work(&self, call: &Call) -> Option<Work> {
        self.family.work(&Args::new(call))
    }
}

/// The models that are built in, and the user's before them.
#[derive(Clone, Debug)]
pub struct Models {
    by_name: HashMap<&'static str, Model>,
}

impl Models {
    pub fn built_in() -> &'static Models {
        static BUILT_IN: OnceLock<Models> = OnceLock::new();
        BUILT_IN.get_or_init(|| Models {
            by_name: GROUPS
                .iter()
                .flat_map(|group| {
                    let model = Model { category: group.category, family: group.family };
                    group.names.iter().map(move |&name| (name, model.clone()))
                })
                .collect(),
        })
    }

    pub fn find(&self, name: &str) -> Option<&Model> {
        self.by_name.get(name)
    }
}

pub(crate) fn built_in_category(name: &str) -> Option<&'static str> {
    Models::built_in().find(name).map(|model| model.category)
}
