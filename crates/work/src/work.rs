//! What a call must do: the answer of every model.

use std::borrow::Cow;
use std::fmt;

use crate::count::Count;
use crate::dtype::Precision;

/// Which units of a GPU do the bulk of the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Tensor cores, matrix cores.
    Matrix,
    Vector,
}

impl Engine {
    pub const fn name(self) -> &'static str {
        match self {
            Engine::Matrix => "matrix",
            Engine::Vector => "vector",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a call must do at least, whatever kernel does it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Arithmetic operations, exact; a multiplication with its addition counts two.
    pub flops: u128,
    /// Every operand and result moved once. Absent where the trace does not tell a type.
    pub bytes: Option<u64>,
    /// The number format of the operations, where the trace tells it.
    pub precision: Option<Precision>,
    pub engine: Engine,
    /// How many of the operations repeat what an earlier operator did, as fused attention does on its way back.
    pub recomputed: u128,
    /// Whether the arguments leave open how much it is, and this is the least it can be.
    pub at_least: bool,
    /// The sizes the model found, such as M, N and K, for people to read.
    pub params: Params,
}

impl Work {
    /// Absent if the operations could not be counted.
    pub(crate) fn new(engine: Engine, flops: Count) -> Option<Work> {
        let flops = flops.get()?;
        let params = Params::default();
        Some(Work { flops, bytes: None, precision: None, engine, recomputed: 0, at_least: false, params })
    }

    pub(crate) fn moving(self, bytes: Count) -> Work {
        Work { bytes: bytes.get().and_then(|bytes| u64::try_from(bytes).ok()), ..self }
    }

    pub(crate) fn in_precision(self, precision: Option<Precision>) -> Work {
        Work { precision, ..self }
    }

    /// Products of `float` on matrix units that round them to TF32.
    pub fn rounded_to_tf32(&mut self) {
        if self.engine == Engine::Matrix && self.precision == Some(Precision::Fp32) {
            self.precision = Some(Precision::Tf32);
        }
    }

    pub(crate) fn with(mut self, name: &'static str, size: Count) -> Work {
        if let Some(size) = size.get().and_then(|size| i64::try_from(size).ok()) {
            self.params.0.push((Cow::Borrowed(name), size));
        }
        self
    }
}

/// Named sizes in the order a reader expects, shown as `M=141 N=512 K=512`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params(pub Vec<(Cow<'static, str>, i64)>);

impl Params {
    pub fn get(&self, name: &str) -> Option<i64> {
        self.0.iter().find(|(known, _)| known == name).map(|&(_, size)| size)
    }
}

impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, size)) in self.0.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{name}={size}")?;
        }
        Ok(())
    }
}
