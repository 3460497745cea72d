//! `gpuscope ops`

use gpuscope_analysis::Ops;
use gpuscope_analysis::ops::{self, Limits, PerStep};
use gpuscope_trace::Ns;
use gpuscope_work::gpus::{self, Peaks, Recognised};

use super::{answer_drawn, models};
use crate::Console;
use crate::args::{By, OpsArgs, WorkArgs};
use crate::exit::{Exit, Failure};

pub(crate) fn run(asked: &OpsArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let by = match asked.by {
        _ if asked.unique_args => ops::By::Arguments,
        By::Args => ops::By::Arguments,
        By::Name => ops::By::Name,
        By::Category => ops::By::Category,
    };
    let question = Ops {
        by,
        recompute: asked.recompute,
        kernels: asked.kernels,
        overlap: asked.overlap,
        short_kernels: asked.short_kernels_us.map(Ns::from_fractional_us),
        top: asked.top,
        models: asked.work.models.as_deref().map(|file| models(file, console)).transpose()?,
        limits: limits(&asked.work)?,
        per_step: PerStep { model_flops: asked.work.model_flops, tokens: asked.work.tokens_per_step },
    };
    answer_drawn("ops", &question, &asked.asked, console)
}

/// What the user says of the GPU.
fn limits(work: &WorkArgs) -> Result<Limits, Failure> {
    let peaks = work.peak.as_deref().map(peaks).transpose()?.unwrap_or_default();
    let gpu = work.gpu.as_deref().map(gpu).transpose()?;
    Ok(Limits { peaks, gpu, called: None })
}

fn peaks(text: &str) -> Result<Peaks, Failure> {
    Peaks::parse(text).map_err(|error| {
        Failure::usage(
            format!("--peak {text}: {error}"),
            "dense TFLOP/s by number format, and GB/s of memory: --peak bf16=989,fp8=1979,memory=3350",
        )
    })
}

pub(super) fn gpu(name: &str) -> Result<Recognised, Failure> {
    let names = |gpus: &mut dyn Iterator<Item = &gpus::Gpu>| {
        gpus.map(|gpu| gpu.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    match gpus::named(name) {
        Recognised::Unknown => Err(Failure::usage(
            format!("--gpu {name}: no such GPU"),
            &format!("known are {}; give the peaks of another with --peak", names(&mut gpus::all().iter())),
        )),
        Recognised::Ambiguous(candidates) => Err(Failure::usage(
            format!("--gpu {name}: which of {}?", names(&mut candidates.iter().copied())),
            &format!("give the whole name: --gpu '{}'", candidates.first().map_or("", |gpu| &gpu.name)),
        )),
        known @ Recognised::Known(_) => Ok(known),
    }
}
