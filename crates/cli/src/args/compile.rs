//! What `compile` takes.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::OutputArgs;

#[derive(Debug, Args)]
pub(crate) struct CompileArgs {
    /// Logs of torch.compile: the folder that `TORCH_TRACE` named, files of it, archives, or `-`; or a program to
    /// run and its arguments
    #[arg(required = true, value_name = "LOG|SCRIPT.py", value_parser = NonEmptyStringValueParser::new())]
    pub logs: Vec<String>,
    #[command(flatten)]
    pub output: OutputArgs,
}
