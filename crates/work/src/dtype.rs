//! Element types: the one table from a trace's spelling to bytes and precision.
//!
//! Traces spell types as C++ does (`c10::BFloat16`, `long int`), older ones as `TypeMeta` did (`long`), kernels
//! of compilers as Triton does (`*bf16`). A number that is no tensor is a `Scalar`; it counts four bytes, as
//! much as the argument it becomes (and as `TraceLens` counts it).

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number format that decides which of a GPU's peaks applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    Fp64,
    Fp32,
    /// A trace says `float` whether or not the matrix units round to TF32; the names of kernels tell.
    Tf32,
    Fp16,
    Bf16,
    Fp8,
    Fp6,
    Fp4,
    Int8,
}

impl Precision {
    pub const ALL: [Precision; 9] = [
        Precision::Fp64,
        Precision::Fp32,
        Precision::Tf32,
        Precision::Fp16,
        Precision::Bf16,
        Precision::Fp8,
        Precision::Fp6,
        Precision::Fp4,
        Precision::Int8,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Precision::Fp64 => "fp64",
            Precision::Fp32 => "fp32",
            Precision::Tf32 => "tf32",
            Precision::Fp16 => "fp16",
            Precision::Bf16 => "bf16",
            Precision::Fp8 => "fp8",
            Precision::Fp6 => "fp6",
            Precision::Fp4 => "fp4",
            Precision::Int8 => "int8",
        }
    }

    /// The precision of this name, in any case.
    pub fn named(name: &str) -> Option<Precision> {
        Self::ALL.into_iter().find(|precision| precision.name().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A type of elements: how many bytes one takes, and its precision if a GPU has a peak for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DType {
    pub bytes: u64,
    pub precision: Option<Precision>,
}

impl DType {
    pub(crate) const HALF: DType = float(2, Precision::Bf16);
    pub(crate) const FP32: DType = float(4, Precision::Fp32);

    /// The type a trace spells so, in any case and with or without a namespace.
    pub fn named(spelling: &str) -> Option<DType> {
        let name = spelling.trim().trim_start_matches('*');
        let name = name.rsplit("::").next().unwrap_or(name);
        TYPES
            .iter()
            .find(|(_, names)| names.iter().any(|known| known.eq_ignore_ascii_case(name)))
            .map(|&(dtype, _)| dtype)
    }

    /// The type with this number in `PyTorch`'s list of types (`c10::ScalarType`).
    pub(crate) fn numbered(code: i64) -> Option<DType> {
        let name = match code {
            0 => "uint8",
            1 => "int8",
            2 => "int16",
            3 => "int32",
            4 => "int64",
            5 => "Half",
            6 => "float",
            7 => "double",
            8 => "ComplexHalf",
            9 => "ComplexFloat",
            10 => "ComplexDouble",
            11 => "bool",
            12 => "qint8",
            13 => "quint8",
            14 => "qint32",
            15 => "BFloat16",
            23 => "Float8_e5m2",
            24 => "Float8_e4m3fn",
            25 => "Float8_e5m2fnuz",
            26 => "Float8_e4m3fnuz",
            27 => "uint16",
            28 => "uint32",
            29 => "uint64",
            44 => "Float8_e8m0fnu",
            45 => "Float4_e2m1fn_x2",
            _ => return None,
        };
        DType::named(name)
    }
}

const fn float(bytes: u64, precision: Precision) -> DType {
    DType { bytes, precision: Some(precision) }
}

const fn plain(bytes: u64) -> DType {
    DType { bytes, precision: None }
}

const TYPES: &[(DType, &[&str])] = &[
    (float(4, Precision::Fp32), &["float", "float32", "fp32", "Scalar"]),
    (float(2, Precision::Bf16), &["BFloat16", "bf16"]),
    (float(2, Precision::Fp16), &["Half", "float16", "fp16"]),
    (float(8, Precision::Fp64), &["double", "float64", "fp64"]),
    (
        float(1, Precision::Fp8),
        &[
            "Float8_e4m3fn",
            "Float8_e4m3fnuz",
            "Float8_e5m2",
            "Float8_e5m2fnuz",
            "fp8",
            "fp8e4nv",
            "fp8e4b8",
            "fp8e5",
            "fp8e5b16",
        ],
    ),
    // Scales of block formats; nothing computes in them.
    (plain(1), &["Float8_e8m0fnu"]),
    // Two elements in each byte: dimensions in the trace count bytes.
    (float(1, Precision::Fp4), &["Float4_e2m1fn_x2", "fp4"]),
    (float(1, Precision::Int8), &["signed char", "char", "int8", "int8_t", "i8", "qint8"]),
    (plain(1), &["unsigned char", "uint8", "uint8_t", "u8", "quint8", "bool", "i1"]),
    (plain(2), &["short", "short int", "int16", "int16_t", "i16", "unsigned short", "uint16", "u16"]),
    (plain(4), &["int", "int32", "int32_t", "i32", "unsigned int", "uint32", "u32", "qint32"]),
    (
        plain(8),
        &["long", "long int", "long long", "int64", "int64_t", "i64", "unsigned long", "uint64", "u64"],
    ),
    (plain(4), &["complex<Half>", "ComplexHalf", "complex32"]),
    (float(8, Precision::Fp32), &["complex<float>", "ComplexFloat", "complex64"]),
    (float(16, Precision::Fp64), &["complex<double>", "ComplexDouble", "complex128"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_traces_are_known() {
        for (spelling, bytes, precision) in [
            ("c10::BFloat16", 2, Some("bf16")),
            ("c10::Half", 2, Some("fp16")),
            ("float", 4, Some("fp32")),
            ("c10::Float", 4, Some("fp32")),
            ("double", 8, Some("fp64")),
            ("c10::Float8_e4m3fnuz", 1, Some("fp8")),
            ("c10::Float8_e5m2", 1, Some("fp8")),
            ("c10::Float8_e8m0fnu", 1, None),
            ("c10::Float4_e2m1fn_x2", 1, Some("fp4")),
            ("long int", 8, None),
            ("long", 8, None),
            ("bool", 1, None),
            ("short", 2, None),
            ("unsigned char", 1, None),
            ("signed char", 1, Some("int8")),
            ("c10::complex<float>", 8, Some("fp32")),
            ("Scalar", 4, Some("fp32")),
            ("*bf16", 2, Some("bf16")),
        ] {
            let dtype = DType::named(spelling).unwrap_or_else(|| panic!("{spelling} is unknown"));
            assert_eq!((dtype.bytes, dtype.precision.map(Precision::name)), (bytes, precision), "{spelling}");
        }
        for odd in ["", "TensorList", "ScalarList", "GenericList", "float<", "c10::"] {
            assert_eq!(DType::named(odd), None, "{odd}");
        }
    }

    #[test]
    fn no_spelling_has_two_meanings() {
        let names: Vec<_> = TYPES.iter().flat_map(|(_, names)| *names).map(|n| n.to_lowercase()).collect();
        let mut unique = names.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), names.len());
    }
}
