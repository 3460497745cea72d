//! `cargo xtask columns`: writes `docs/columns.md` anew. A test of the command line does it and holds the file to it; here
//! it is only told to write.

use anyhow::Result;

use crate::steps::call;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let test = ["test", "--package", "gpuscope-cli", "--test", "it", "columns::"];
    call(workspace.cargo().args(test).env("GPUSCOPE_WRITE_COLUMNS", "1"))
}
