//! The front door: simulate a plan and write its files, its truth, or both.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use gpuscope_files::{NewFile, Privacy};

use crate::emit::Emitter;
use crate::engine::simulate;
use crate::groups::Groups;
use crate::job;
use crate::plan::Plan;
use crate::preamble::trace_id;
use crate::shapes::ShapeTexts;
use crate::truth::{RankTruth, Truth};
use crate::witness::Witness;

/// How files are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    None,
    Gzip,
}

/// The name `write_job` gives a rank's file.
pub fn file_name(rank: u32, compression: Compression) -> String {
    match compression {
        Compression::None => format!("rank-{rank}.json"),
        Compression::Gzip => format!("rank-{rank}.json.gz"),
    }
}

/// What is true of a plan's files, without writing them.
pub fn truth(plan: &Plan) -> Truth {
    let mut sinks: Vec<io::Sink> = (0..plan.world()).map(|_| io::sink()).collect();
    let outs = sinks.iter_mut().map(|sink| sink as &mut dyn Write).collect();
    // A sink takes everything.
    write_ranks(plan, outs).map_or_else(|_| job::no_ranks(), |ranks| job::combine(plan, ranks))
}

/// Streams one rank's file; memory does not grow with its length. The other ranks are simulated, not recorded.
pub fn write_rank(plan: &Plan, rank: u32, out: &mut dyn Write) -> io::Result<RankTruth> {
    if rank >= plan.world() {
        let message = format!("the plan has {} ranks, so there is no rank {rank}", plan.world());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let (groups, shapes) = (Groups::new(plan), ShapeTexts::new(plan));
    let mut emitter = Emitter::new(plan, &groups, &shapes, rank, out);
    let mut witness = Witness::new(plan, &groups, rank);
    simulate(plan, &groups, &|other| other == rank, &mut |_, mut batch| {
        witness.observe(&mut batch);
        emitter.batch(&batch)
    })?;
    conclude(emitter, witness)
}

/// Writes every rank's file into a directory, which is created if need be, and returns the truth of the job.
pub fn write_job(plan: &Plan, dir: &Path, compression: Compression) -> io::Result<Truth> {
    std::fs::create_dir_all(dir)?;
    let mut files = Vec::new();
    for rank in 0..plan.world() {
        files.push(RankFile::create(plan, dir, rank, compression)?);
    }
    let outs = files.iter_mut().map(|file| file as &mut dyn Write).collect();
    let ranks = write_ranks(plan, outs)?;
    for file in files {
        file.finish()?;
    }
    Ok(job::combine(plan, ranks))
}

/// Files that `write_job` would write over and that are not the work of an earlier call with such a plan.
pub fn files_of_others(plan: &Plan, dir: &Path, compression: Compression) -> Vec<PathBuf> {
    let ranks = (0..plan.world()).filter(|rank| plan.has_file(*rank));
    let paths = ranks.map(|rank| (rank, dir.join(file_name(rank, compression))));
    paths.filter(|(rank, path)| path.exists() && !is_own(plan, *rank, path)).map(|(_, path)| path).collect()
}

/// Whether the beginning of a file has the id that such a plan gives it.
fn is_own(plan: &Plan, rank: u32, path: &Path) -> bool {
    const LOOK: u64 = 4 << 20;
    let mut text = Vec::new();
    let Ok(file) = File::open(path) else { return false };
    let is_gzip = path.extension().is_some_and(|extension| extension == "gz");
    // What cannot be read to the end of the look may still show its id; what cannot be read at all shows none.
    let _ = if is_gzip {
        GzDecoder::new(file).take(LOOK).read_to_end(&mut text)
    } else {
        file.take(LOOK).read_to_end(&mut text)
    };
    let id = trace_id(plan, rank);
    text.windows(id.len()).any(|window| window == id.as_bytes())
}

/// Appears under its name when it is finished.
enum RankFile {
    /// A rank whose trace was lost.
    Nowhere,
    Plain(Box<NewFile>),
    Gzip(Box<GzEncoder<NewFile>>),
}

impl RankFile {
    fn create(plan: &Plan, dir: &Path, rank: u32, compression: Compression) -> io::Result<RankFile> {
        if !plan.has_file(rank) {
            return Ok(RankFile::Nowhere);
        }
        let file = NewFile::create(&dir.join(file_name(rank, compression)), Privacy::AsUsual)?;
        Ok(match compression {
            Compression::None => RankFile::Plain(Box::new(file)),
            Compression::Gzip => RankFile::Gzip(Box::new(GzEncoder::new(file, flate2::Compression::fast()))),
        })
    }

    fn finish(self) -> io::Result<()> {
        match self {
            RankFile::Nowhere => {}
            RankFile::Plain(file) => drop(file.finish()?),
            RankFile::Gzip(encoder) => drop(encoder.finish()?.finish()?),
        }
        Ok(())
    }
}

impl Write for RankFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            RankFile::Nowhere => Ok(bytes.len()),
            RankFile::Plain(file) => file.write(bytes),
            RankFile::Gzip(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            RankFile::Nowhere => Ok(()),
            RankFile::Plain(file) => file.flush(),
            RankFile::Gzip(encoder) => encoder.flush(),
        }
    }
}

fn write_ranks(plan: &Plan, outs: Vec<&mut dyn Write>) -> io::Result<Vec<RankTruth>> {
    let (groups, shapes) = (Groups::new(plan), ShapeTexts::new(plan));
    let mut writers: Vec<(Emitter<'_, '_>, Witness<'_>)> = outs
        .into_iter()
        .zip(0..plan.world())
        .map(|(out, rank)| {
            (Emitter::new(plan, &groups, &shapes, rank, out), Witness::new(plan, &groups, rank))
        })
        .collect();
    simulate(plan, &groups, &|_| true, &mut |rank, mut batch| {
        let (emitter, witness) = &mut writers[rank as usize];
        witness.observe(&mut batch);
        emitter.batch(&batch)
    })?;
    writers.into_iter().map(|(emitter, witness)| conclude(emitter, witness)).collect()
}

fn conclude(emitter: Emitter<'_, '_>, witness: Witness<'_>) -> io::Result<RankTruth> {
    let out = emitter.finish(witness.span())?;
    Ok(witness.finish(out.elements(), out.bytes(), out.counts()))
}
