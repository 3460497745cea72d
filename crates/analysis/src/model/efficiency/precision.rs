//! Products of fp32 on a GPU that has units for products in TF32 or fp16, which are several times as fast.
//!
//! Claimed of each event: its kernel's name says that it multiplies in fp32 outside of these units (`sgemm`, `scudnn`,
//! `simt`). Products and convolutions are looked at apart, because `PyTorch` switches them apart: if any of them runs in
//! TF32 (or in 16 bits on a GPU without TF32), that is switched on, and what is still done in fp32 is a choice.
//!
//! The target is half of what the peaks promise, but a third of the time at best, and not less than the bytes of the
//! operands take where the arguments are recorded. GPUs from compute capability 8.0 on have TF32, which changes no
//! line of a model; those of 7.x have fp16 alone.
//!
//! A GPU that the trace does not describe is one for which its kernels were made; then half of the time is left.
//!
//! Silent on GPUs without such units or of other makers, whose names of kernels do not tell, and where the peaks
//! promise less than twice the rate, as on `GeForce`.

use gpuscope_trace::{Bitmap, Ns, Row};
use gpuscope_work::{Engine, Precision, Products};

use super::Opportunity;
use super::scene::{Event, PerName, Scene, take};
use super::sorts::Sort;
use crate::shared::text;

pub(super) const PRODUCTS: &str = "fp32_products";
pub(super) const CONVOLUTIONS: &str = "fp32_convolutions";

/// The best that is promised: of the time before.
const LEFT_AT_BEST: f64 = 1.0 / 3.0;
const OF_PEAKS: &str =
    "half of the speed-up that the peaks promise, threefold at most, as far as memory keeps up";
/// Where the GPU's peaks are not known.
const LEFT_UNKNOWN: f64 = 0.5;

#[derive(Clone, Copy, PartialEq)]
enum Family {
    Matmul,
    Convolution,
}

pub(super) fn fp32_products(scene: &Scene<'_>, taken: &mut Bitmap) -> Vec<Opportunity> {
    if !scene.all().any(|event| event.sort == Sort::Products(Products::Fp32)) {
        return Vec::new();
    }
    let Some(way) = Way::of(scene) else { return Vec::new() };
    let mut is_convolution = PerName::new(scene.view, |name| {
        let name = name.to_ascii_lowercase();
        ["conv", "cudnn", "fprop", "dgrad", "wgrad", "winograd"].iter().any(|part| name.contains(part))
    });
    let mut families = [(Family::Matmul, Vec::new(), false), (Family::Convolution, Vec::new(), false)];
    for event in scene.all() {
        let Sort::Products(products) = event.sort else { continue };
        let names = [Some(scene.view.trace.name_id(event.row)), scene.operator(event.row)];
        let family = usize::from(names.into_iter().flatten().any(|name| is_convolution.of(name)));
        match products {
            Products::Tf32 => families[family].2 = true,
            Products::Narrow => families[family].2 |= way.precision == Precision::Fp16,
            Products::Fp32 if !taken.has(event.row) => families[family].1.push(*event),
            Products::Fp32 => {}
        }
    }
    families
        .into_iter()
        .filter(|(_, events, rounded)| !rounded && !events.is_empty())
        .map(|(family, events, _)| {
            take(taken, events.iter().map(|event| event.row));
            way.report(scene, family, &events)
        })
        .collect()
}

/// What is faster than fp32 on this GPU.
struct Way {
    precision: Precision,
    /// Of the time before.
    left: f64,
    known: bool,
}

impl Way {
    fn of(scene: &Scene<'_>) -> Option<Way> {
        let precision = match generation(scene)? {
            ..7 => return None,
            7 => Precision::Fp16,
            8.. => Precision::Tf32,
        };
        let rate = |engine, precision| scene.limits().tflops(engine, precision);
        let faster = rate(Engine::Matrix, precision).zip(rate(Engine::Vector, Precision::Fp32));
        let left = match faster {
            Some((fast, slow)) => (2.0 * slow / fast).max(LEFT_AT_BEST),
            None => LEFT_UNKNOWN,
        };
        (left < 1.0).then_some(Way { precision, left, known: faster.is_some() })
    }

    /// Not less than the operands of the call take to move.
    fn left(&self, scene: &Scene<'_>, event: &Event) -> f32 {
        let bytes = scene.work(*event).and_then(|work| work.bytes);
        let moving = bytes.zip(scene.limits().memory_gb_per_s()).map(|(bytes, rate)| bytes as f64 / rate);
        let least = moving.map_or(0.0, |ns| ns / event.dur.as_f64().max(1.0));
        self.left.max(least).min(1.0) as f32
    }

    fn report(&self, scene: &Scene<'_>, family: Family, events: &[Event]) -> Opportunity {
        let time: Ns = events.iter().map(|event| event.dur).sum();
        let with_left: Vec<(Row, f32)> =
            events.iter().map(|event| (event.row, self.left(scene, event))).collect();
        let of = match family {
            Family::Matmul => "matrix product",
            Family::Convolution => "convolution",
        };
        let halves = self.precision == Precision::Fp16;
        let (id, advice) = match (family, halves) {
            (Family::Matmul, false) => (
                PRODUCTS,
                "use torch.set_float32_matmul_precision(\"high\") for TF32, or torch.autocast with bfloat16",
            ),
            (Family::Convolution, false) => (
                CONVOLUTIONS,
                "set torch.backends.cudnn.allow_tf32 = True, or use torch.autocast with bfloat16",
            ),
            (Family::Matmul, true) => (PRODUCTS, AUTOCAST),
            (Family::Convolution, true) => (CONVOLUTIONS, AUTOCAST),
        };
        let name = self.precision.name();
        Opportunity {
            id,
            title: format!(
                "{} {of} kernels compute in fp32 without the tensor cores, {} in all",
                events.len(),
                text::time(time)
            ),
            claim: vec![("events", events.len() as i64), ("gpu_ns", time.0)],
            target: format!(
                "{:.0} % of the time in {name}, {}",
                100.0 * self.left,
                if self.known { OF_PEAKS } else { "as the GPU's peaks are not known" }
            ),
            evidence: format!(
                "{:.0} % of GPU time; no {of} in this trace runs in {name}",
                time.pct_of(scene.busy)
            ),
            names: scene.largest(events.iter().map(|event| event.row)),
            advice,
            caveat: Some(match (halves, self.known) {
                (true, _) => {
                    "this GPU has no TF32; fp16 changes results, and gradients need scaling".to_owned()
                }
                (false, true) => "TF32 keeps only 10 bits of the mantissa".to_owned(),
                (false, false) => {
                    "TF32 keeps only 10 bits of the mantissa; the GPU's peaks are not known".to_owned()
                }
            }),
            confident: self.known,
            events: with_left,
            removed_launches: Vec::new(),
        }
    }
}

/// The first number of the compute capability of a GPU with tensor cores; of one that the trace does not describe, that
/// which most of its kernels were made for.
fn generation(scene: &Scene<'_>) -> Option<i64> {
    let devices = &scene.view.trace.metadata.devices;
    let busy = scene.view.gpu().next().map(|event| scene.view.device(event.row));
    let Some(device) = devices.iter().find(|device| Some(device.id) == busy).or(devices.first()) else {
        let mut made_for = PerName::new(scene.view, made_for);
        return scene.all().filter_map(|event| made_for.of(scene.view.trace.name_id(event.row))).max();
    };
    let is_without = |name: &str| name.contains("GTX") || name.contains("AMD") || name.contains("Radeon");
    device.compute_major.filter(|_| !device.name.as_deref().is_some_and(is_without))
}

fn made_for(kernel: &str) -> Option<i64> {
    let has = |parts: &[&str]| parts.iter().any(|part| kernel.contains(part));
    if has(&["ampere_", "sm80_", "sm86_", "sm89_", "sm90_", "sm100_", "cutlass_80", "nvjet_"]) {
        Some(8)
    } else {
        has(&["volta_", "turing_", "sm70_", "sm75_"]).then_some(7)
    }
}

const AUTOCAST: &str = "use torch.autocast(\"cuda\", dtype=torch.float16) with torch.amp.GradScaler";
