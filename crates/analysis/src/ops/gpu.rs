//! On which GPU the trace was recorded, as far as its peaks go.

use gpuscope_trace::View;

use super::roofline::Limits;

#[derive(Clone, Debug, PartialEq)]
pub struct Gpu {
    pub name: String,
    pub limits: Limits,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum WhichGpu {
    Known(Gpu),
    /// It could be any of these.
    Ambiguous(Vec<String>),
    /// What the trace calls it, if anything.
    Unknown(Option<String>),
    #[default]
    None,
}

impl WhichGpu {
    pub(super) fn of(view: View<'_>) -> WhichGpu {
        let _ = view;
        WhichGpu::None
    }

    pub(super) fn limits(&self) -> Limits {
        match self {
            WhichGpu::Known(gpu) => gpu.limits.clone(),
            _ => Limits::default(),
        }
    }

    pub(super) fn name(&self) -> Option<String> {
        match self {
            WhichGpu::Known(gpu) => Some(gpu.name.clone()),
            _ => None,
        }
    }
}
