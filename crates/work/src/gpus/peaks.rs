//! The best a GPU can do, by its maker's data sheet or by the user's word.

use serde::Deserialize;

use crate::dtype::Precision;
use crate::work::Engine;

/// TFLOP/s per precision on either kind of unit, and GB/s of memory. What is absent is unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Peaks {
    matrix: Rates,
    vector: Rates,
    pub memory_gb_per_s: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Rates {
    fp64: Option<f64>,
    fp32: Option<f64>,
    tf32: Option<f64>,
    fp16: Option<f64>,
    bf16: Option<f64>,
    fp8: Option<f64>,
    fp6: Option<f64>,
    fp4: Option<f64>,
    int8: Option<f64>,
}

impl Rates {
    fn get(mut self, precision: Precision) -> Option<f64> {
        *self.of(precision)
    }

    fn of(&mut self, precision: Precision) -> &mut Option<f64> {
        match precision {
            Precision::Fp64 => &mut self.fp64,
            Precision::Fp32 => &mut self.fp32,
            Precision::Tf32 => &mut self.tf32,
            Precision::Fp16 => &mut self.fp16,
            Precision::Bf16 => &mut self.bf16,
            Precision::Fp8 => &mut self.fp8,
            Precision::Fp6 => &mut self.fp6,
            Precision::Fp4 => &mut self.fp4,
            Precision::Int8 => &mut self.int8,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no peak: {reason}; write for example bf16=989,fp32=67,memory=3350 (dense TFLOP/s, GB/s)"
)]
pub struct PeakError {
    text: String,
    reason: &'static str,
}

impl Peaks {
    pub(crate) fn new(matrix: Rates, vector: Rates, memory_gb_per_s: Option<f64>) -> Peaks {
        Peaks { matrix, vector, memory_gb_per_s }
    }

    /// Dense TFLOP/s at this precision.
    ///
    /// Where the matrix units have no such precision the others do the work. Those compute everything narrower
    /// than fp32 as fp32, unless they have a peak of its own for it.
    pub fn tflops(&self, engine: Engine, precision: Precision) -> Option<f64> {
        let vector = self.vector.get(precision).or(match precision {
            Precision::Fp64 | Precision::Fp32 | Precision::Tf32 => None,
            _ => self.vector.fp32,
        });
        match engine {
            Engine::Matrix => self.matrix.get(precision).or(self.vector.get(precision)),
            Engine::Vector => vector,
        }
    }

    /// What the user says, as in `bf16=989,fp32=67,memory=3350`. A precision counts for both kinds of units
    /// unless it says one, as in `matrix.fp32=163,vector.fp32=81`.
    pub fn parse(text: &str) -> Result<Peaks, PeakError> {
        let mut peaks = Peaks::default();
        for part in text.split(',') {
            let wrong = |reason| PeakError { text: part.trim().to_owned(), reason };
            let (key, value) = part.split_once('=').ok_or_else(|| wrong("it has no `=`"))?;
            let key = key.trim().to_ascii_lowercase();
            let rate = value.trim().parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
            let rate = Some(rate.ok_or_else(|| wrong("the value is no positive number"))?);
            if key == "memory" {
                peaks.memory_gb_per_s = rate;
                continue;
            }
            let (engine, name) = match key.split_once('.') {
                Some(("matrix", name)) => (Some(Engine::Matrix), name),
                Some(("vector", name)) => (Some(Engine::Vector), name),
                Some(_) => return Err(wrong("units are `matrix` or `vector`")),
                None => (None, key.as_str()),
            };
            let precision = Precision::named(name).ok_or_else(|| {
                wrong("known are fp64, fp32, tf32, fp16, bf16, fp8, fp6, fp4, int8 and memory")
            })?;
            if engine != Some(Engine::Vector) {
                *peaks.matrix.of(precision) = rate;
            }
            if engine != Some(Engine::Matrix) {
                *peaks.vector.of(precision) = rate;
            }
        }
        Ok(peaks)
    }

    /// These peaks, where given, instead of others.
    #[must_use]
    pub fn or(mut self, others: &Peaks) -> Peaks {
        let mut others = others.clone();
        for precision in Precision::ALL {
            for (mine, theirs) in
                [(&mut self.matrix, &mut others.matrix), (&mut self.vector, &mut others.vector)]
            {
                let mine = mine.of(precision);
                *mine = mine.or(*theirs.of(precision));
            }
        }
        self.memory_gb_per_s = self.memory_gb_per_s.or(others.memory_gb_per_s);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_are_as_written() {
        let peaks = Peaks::parse("bf16=989, matrix.fp32=163,vector.fp32=81.5,memory=3350").unwrap();
        assert_eq!(peaks.tflops(Engine::Matrix, Precision::Bf16), Some(989.0));
        assert_eq!(peaks.tflops(Engine::Matrix, Precision::Fp32), Some(163.0));
        assert_eq!(peaks.tflops(Engine::Vector, Precision::Fp32), Some(81.5));
        assert_eq!(peaks.tflops(Engine::Vector, Precision::Fp16), Some(81.5), "computed as fp32");
        assert_eq!(peaks.tflops(Engine::Matrix, Precision::Fp16), None, "nothing is guessed");
        assert_eq!(peaks.memory_gb_per_s, Some(3350.0));
        let rest = Peaks::parse("bf16=1,fp8=2,memory=3").unwrap();
        let both = peaks.or(&rest);
        assert_eq!(both.tflops(Engine::Matrix, Precision::Bf16), Some(989.0));
        assert_eq!(both.tflops(Engine::Matrix, Precision::Fp8), Some(2.0));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("bf16", "no `=`"),
            ("bf16=fast", "no positive number"),
            ("bf16=-1", "no positive number"),
            ("bf16=inf", "no positive number"),
            ("bf17=1", "known are"),
            ("tensor.bf16=1", "`matrix` or `vector`"),
            ("", "no `=`"),
        ] {
            let message = Peaks::parse(text).unwrap_err().to_string();
            assert!(message.contains(part) && message.contains("memory=3350"), "{message}");
        }
    }
}
