//! Streams one rank of a given size into nowhere, or into a file, and says how fast that was.
//!
//! `cargo run --release -p gpuscope-testkit --example measure -- 1000000000 [ranks] [file]`

use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::time::Instant;

use gpuscope_testkit::{Plan, write_rank};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let bytes = args.next().unwrap_or_else(|| "100000000".to_owned()).parse()?;
    let ranks = args.next().map_or(Ok(1), |text| text.parse())?;
    let mut out: Box<dyn Write> = match args.next() {
        Some(path) => Box::new(File::create(path)?),
        None => Box::new(io::sink()),
    };
    let plan = Plan::healthy().ranks(ranks).with_bytes(bytes);
    let begun = Instant::now();
    let truth = write_rank(&plan, 0, &mut out)?;
    let seconds = begun.elapsed().as_secs_f64();
    writeln!(
        io::stdout(),
        "{} events, {} bytes, {} steps of {} blocks: {seconds:.2} s, {:.0} MB/s",
        truth.elements,
        truth.bytes,
        plan.steps,
        plan.layers,
        truth.bytes as f64 / seconds / 1e6
    )?;
    Ok(())
}
