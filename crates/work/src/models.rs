//! Finding the model of an operator by its name.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use regex_lite::Regex;

use crate::Call;
use crate::args::Args;
use crate::families::Family;
use crate::table::{self, Group};
use crate::user::{self, Counting, Formula, Names, UserError};
use crate::work::Work;

/// How one operator's work is counted.
#[derive(Clone, Debug)]
pub struct Model {
    category: Cow<'static, str>,
    way: Way,
}

#[derive(Clone, Debug)]
enum Way {
    Family(Family),
    /// As a family does, with the arguments at other places.
    Rearranged(Family, Vec<usize>),
    Formula(Formula),
}

impl Model {
    /// The operator's category, such as `GEMM` or `SDPA_bwd`.
    pub fn category(&self) -> &str {
        &self.category
    }

    /// What this call must do; absent if its arguments do not tell.
    pub fn work(&self, call: &Call) -> Option<Work> {
        match &self.way {
            Way::Family(family) => family.work(&Args::new(call)),
            Way::Rearranged(family, places) => family.work(&Args::rearranged(call, places)),
            Way::Formula(formula) => formula.work(&Args::new(call)),
        }
    }
}

/// The models that are built in, and before them those of the user.
#[derive(Clone, Debug, Default)]
pub struct Models {
    named: HashMap<String, Model>,
    matching: Vec<(Regex, Model)>,
}

impl Models {
    /// Without any of the user's.
    pub fn built_in() -> &'static Models {
        static NONE: OnceLock<Models> = OnceLock::new();
        NONE.get_or_init(Models::default)
    }

    /// With those that the user wrote in TOML; see `docs/work-models.md`.
    pub fn with_user(text: &str) -> Result<Models, UserError> {
        let mut models = Models::default();
        for entry in user::read(text)? {
            let (way, like) = match entry.counting {
                Counting::Formula(formula) => (Way::Formula(formula), None),
                Counting::Like(like, places) => {
                    let known = |group: &&Group| group.names.contains(&like.as_str());
                    let group = table::groups().find(known).ok_or_else(|| UserError {
                        line: entry.line,
                        message: format!("`{like}` has no model that is built in, so none can be like it"),
                    })?;
                    let way =
                        places.map_or(Way::Family(group.family), |at| Way::Rearranged(group.family, at));
                    (way, Some(group.category))
                }
            };
            let category =
                entry.category.map(Cow::Owned).or(like.map(Cow::Borrowed)).unwrap_or("other".into());
            let model = Model { category, way };
            match entry.names {
                Names::One(name) => {
                    models.named.insert(name, model);
                }
                Names::Matching(pattern) => models.matching.push((pattern, model)),
            }
        }
        Ok(models)
    }

    /// The model of an operator; absent if there is none.
    pub fn find(&self, name: &str) -> Option<&Model> {
        let matching = || self.matching.iter().find(|(pattern, _)| pattern.is_match(name));
        let users = self.named.get(name).or_else(|| matching().map(|(_, model)| model));
        users.or_else(|| built_in().get(name)).or_else(|| table::is_compiled(name).then(compiled))
    }

    /// The category of an operator, by its name and that of the first kernel it launches.
    pub fn category(&self, name: &str, first_kernel: Option<&str>) -> &str {
        self.find(name).map_or_else(|| crate::category(name, first_kernel), Model::category)
    }
}

impl From<&'static Group> for Model {
    fn from(group: &'static Group) -> Model {
        Model { category: Cow::Borrowed(group.category), way: Way::Family(group.family) }
    }
}

fn built_in() -> &'static HashMap<&'static str, Model> {
    static BUILT_IN: OnceLock<HashMap<&'static str, Model>> = OnceLock::new();
    BUILT_IN.get_or_init(|| {
        table::groups()
            .flat_map(|group| group.names.iter().map(move |&name| (name, Model::from(group))))
            .collect()
    })
}

fn compiled() -> &'static Model {
    static COMPILED: OnceLock<Model> = OnceLock::new();
    COMPILED.get_or_init(|| Model::from(&table::COMPILED))
}

/// The category of an operator with a built-in model.
pub(crate) fn built_in_category(name: &str) -> Option<&'static str> {
    built_in().get(name).or_else(|| table::is_compiled(name).then(compiled)).map(Model::category)
}
