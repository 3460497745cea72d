//! The dashboard and the door for agents.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use clap::Args;

use crate::parse;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The folder of runs: traces, logs of torch.compile, benchmarks; what lands there appears
    #[arg(value_name = "DIR", default_value = "profiles")]
    pub folder: PathBuf,
    /// The port to listen on; 0 for any that is free
    #[arg(long, value_name = "N", default_value_t = 6970)]
    pub port: u16,
    /// The address to listen on; any other than this machine's own asks for a token
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub host: IpAddr,
    /// What visitors have to show [default: `$GPUSCOPE_TOKEN`, or a random one that is printed]
    #[arg(long, value_name = "WORD", value_parser = parse::token)]
    pub token: Option<String>,
    /// A name that the server is known by, such as gpu.example.org; may be repeated
    #[arg(long, value_name = "NAME")]
    pub name: Vec<String>,
    /// What a proxy puts before every path, such as /gpuscope
    #[arg(long, value_name = "PATH", default_value = "")]
    pub base_path: String,
    /// Take notes, tags and uploads
    #[arg(long)]
    pub writable: bool,
    /// A line of JSON about every request on standard error
    #[arg(long)]
    pub log: bool,
    /// Only print the address
    #[arg(long)]
    pub no_open: bool,
    #[command(flatten)]
    pub kept: KeptArgs,
}

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// The folder of runs
    #[arg(value_name = "DIR", default_value = "profiles")]
    pub folder: PathBuf,
    #[command(flatten)]
    pub kept: KeptArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Memory")]
pub(crate) struct KeptArgs {
    /// Memory that open traces may take at once [default: half of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = parse::size)]
    pub memory: Option<u64>,
    /// Where overviews, answers and notes are kept [default: DIR/.gpuscope/dashboard.db]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// What kept answers may take there
    #[arg(long, value_name = "SIZE", value_parser = parse::size, default_value = "1GB")]
    pub store_size: u64,
}
