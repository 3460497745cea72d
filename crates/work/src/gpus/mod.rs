//! Which GPU a trace is of, and what it can do at best.
//!
//! A trace names its GPUs, but names may be empty or odd (`AMD Radeon Graphics`), and a part of a GPU carries
//! the name of the whole. So a name must fit the compute capability, the number of multiprocessors and the
//! memory; where it tells nothing, these three decide. What then remains ambiguous is said to be.

mod peaks;

use std::sync::OnceLock;

use serde::Deserialize;

use crate::dtype::Precision;
use crate::work::Engine;

use peaks::Rates;
pub use peaks::{PeakError, Peaks};

/// How a GPU is linked to the others of its machine.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    pub name: String,
    /// In one direction, of all links together.
    gb_per_s: f64,
    /// Among so many others they may be divided.
    peers: Option<u32>,
}

impl Link {
    /// GB/s in one direction that a GPU has at least within a group of so many.
    pub fn gb_per_s(&self, group: u32) -> f64 {
        let others = group.saturating_sub(1);
        let share = self.peers.map_or(1.0, |peers| f64::from(others.min(peers)) / f64::from(peers.max(1)));
        self.gb_per_s * share
    }
}

/// A GPU as its maker describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Gpu {
    pub name: String,
    /// Names in traces, in the form that [`words`] gives them.
    names: Vec<Vec<String>>,
    pub compute: (u32, u32),
    pub sms: Option<u32>,
    pub memory_bytes: u64,
    pub peaks: Peaks,
    pub link: Option<Link>,
    /// The maker's paper that the peaks are from.
    pub source: String,
}

/// A device as the trace describes it; what it does not say is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Device<'a> {
    pub name: &'a str,
    pub compute_major: Option<u32>,
    pub compute_minor: Option<u32>,
    /// Streaming multiprocessors, or compute units.
    pub sms: Option<u32>,
    pub memory_bytes: Option<u64>,
}

/// What is known of a device.
#[derive(Clone, Debug, PartialEq)]
pub enum Recognised {
    Known(&'static Gpu),
    /// Any of these, at least two.
    Ambiguous(Vec<&'static Gpu>),
    Unknown,
}

impl Recognised {
    fn from_candidates(candidates: Vec<&'static Gpu>) -> Recognised {
        match candidates[..] {
            [] => Recognised::Unknown,
            [gpu] => Recognised::Known(gpu),
            _ => Recognised::Ambiguous(candidates),
        }
    }

    /// The GPUs it may be.
    pub fn candidates(&self) -> &[&'static Gpu] {
        match self {
            Recognised::Known(gpu) => std::slice::from_ref(gpu),
            Recognised::Ambiguous(candidates) => candidates,
            Recognised::Unknown => &[],
        }
    }

    /// Dense TFLOP/s, if all candidates agree.
    pub fn tflops(&self, engine: Engine, precision: Precision) -> Option<f64> {
        self.agreed(|peaks| peaks.tflops(engine, precision))
    }

    /// GB/s of memory, if all candidates agree.
    pub fn memory_gb_per_s(&self) -> Option<f64> {
        self.agreed(|peaks| peaks.memory_gb_per_s)
    }

    /// How it is linked to others, if all candidates agree.
    pub fn link(&self) -> Option<&'static Link> {
        let mut links = self.candidates().iter().map(|gpu| gpu.link.as_ref());
        let first = links.next()?;
        links.all(|link| link == first).then_some(first)?
    }

    fn agreed(&self, of: impl Fn(&Peaks) -> Option<f64>) -> Option<f64> {
        let mut values = self.candidates().iter().map(|gpu| of(&gpu.peaks));
        let first = values.next()?;
        values.all(|value| value == first).then_some(first)?
    }
}

/// All GPUs that are known.
pub fn all() -> &'static [Gpu] {
    static GPUS: OnceLock<Vec<Gpu>> = OnceLock::new();
    GPUS.get_or_init(|| {
        let file: File = toml::from_str(include_str!("gpus.toml")).expect("a test reads the list");
        file.gpu.into_iter().map(Gpu::from).collect()
    })
}

/// Which GPU a device of a trace is.
pub fn recognise(device: &Device) -> Recognised {
    let name = words(device.name);
    let named: Vec<_> = all().iter().filter(|gpu| gpu.names.contains(&name)).collect();
    let whole = device.compute_major.is_some() && device.sms.is_some() && device.memory_bytes.is_some();
    let fitting = if !named.is_empty() {
        named.into_iter().filter(|gpu| gpu.fits(device)).collect()
    } else if whole && says_little(&name) {
        all().iter().filter(|gpu| gpu.sms.is_some() && gpu.fits(device)).collect()
    } else {
        Vec::new()
    };
    Recognised::from_candidates(fitting)
}

/// The GPU that a person means by a name, such as `h100 sxm`, `MI300X` or a name from a trace.
pub fn named(name: &str) -> Recognised {
    let wanted = words(name);
    if wanted.is_empty() {
        return Recognised::Unknown;
    }
    let ours = || all().iter().filter(|gpu| words(&gpu.name) == wanted);
    let of_traces = || all().iter().filter(|gpu| gpu.names.contains(&wanted));
    for exact in [ours().collect::<Vec<_>>(), of_traces().collect()] {
        if let [gpu] = exact[..] {
            return Recognised::Known(gpu);
        }
    }
    let has_all = |words: &[String]| wanted.iter().all(|word| words.contains(word));
    let fitting =
        all().iter().filter(|gpu| has_all(&words(&gpu.name)) || gpu.names.iter().any(|name| has_all(name)));
    Recognised::from_candidates(fitting.collect())
}

impl Gpu {
    /// Whether what the device says of itself does not speak against this GPU.
    fn fits(&self, device: &Device) -> bool {
        let (major, minor) = self.compute;
        let memory = |bytes: u64| {
            let percent = u128::from(bytes) * 100 / u128::from(self.memory_bytes.max(1));
            (90..=101).contains(&percent)
        };
        device.compute_major.is_none_or(|given| given == major)
            && device.compute_minor.is_none_or(|given| given == minor)
            && self.sms.is_none_or(|sms| device.sms.is_none_or(|given| given == sms))
            && device.memory_bytes.is_none_or(memory)
    }
}

/// A name in words, without those that do not tell one GPU from another.
fn words(name: &str) -> Vec<String> {
    const MAKERS: [&str; 6] = ["nvidia", "amd", "instinct", "tesla", "geforce", "radeon"];
    name.to_ascii_lowercase()
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty() && !MAKERS.contains(word))
        .map(str::to_owned)
        .collect()
}

/// Names of drivers that did not know the GPU. Any other name is a GPU that is not in the list.
fn says_little(name: &[String]) -> bool {
    matches!(name, [] | [_] if name.first().is_none_or(|word| word == "graphics" || word == "gpu" || word == "device"))
}

#[derive(Deserialize)]
struct File {
    gpu: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    names: Vec<String>,
    source: String,
    compute: (u32, u32),
    sms: Option<u32>,
    memory_gib: u64,
    memory_gb_per_s: Option<f64>,
    link: Option<Link>,
    #[serde(default)]
    matrix: Rates,
    #[serde(default)]
    vector: Rates,
}

impl From<Entry> for Gpu {
    fn from(entry: Entry) -> Gpu {
        Gpu {
            name: entry.name,
            names: entry.names.iter().map(|name| words(name)).collect(),
            compute: entry.compute,
            sms: entry.sms,
            memory_bytes: entry.memory_gib << 30,
            peaks: Peaks::new(entry.matrix, entry.vector, entry.memory_gb_per_s),
            link: entry.link,
            source: entry.source,
        }
    }
}

#[cfg(test)]
mod tests;
