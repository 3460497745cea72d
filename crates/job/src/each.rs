//! Looking at the inputs of a run one by one: each rank's trace by itself, or a file's text once more.

use std::io::{self, Read};
use std::path::Path;

use gpuscope_analysis::Question;
use gpuscope_table::{Table, Tabular};
use gpuscope_trace::View;
use serde::Serialize;

use crate::error::Error;
use crate::peek;
use crate::run::{InputInfo, Outcome, Run};

impl Run {
    /// Looks at every rank by itself. With `keep_host_only` there is one part for each of `inputs`.
    pub fn each<L: Send>(&self, local: impl Fn(u32, View<'_>) -> L + Sync) -> Result<Outcome<Vec<L>>, Error> {
        let Outcome { inputs, quality, answer } = self.ask(&Each(local))?;
        Ok(Outcome { inputs, quality, answer: answer.0 })
    }

    /// Reads the bytes of an input again, compressed as they are; `path` is what [`InputInfo::path`] says.
    pub fn reopen<T>(&self, path: &str, read: impl FnOnce(&mut (dyn Read + Send)) -> T) -> Result<T, Error> {
        let source = self.sources.iter().find(|source| source.path == path);
        let missing = || Error::io(path, io::ErrorKind::NotFound.into());
        source.ok_or_else(missing)?.with_reader(read).map_err(|error| Error::io(path, error))
    }

    /// If all the input there is is one file: what is known of it without reading it. Its events are not counted.
    pub(crate) fn lone_input(&self) -> Option<InputInfo> {
        let [source] = &*self.sources else { return None };
        Some(InputInfo {
            path: source.path.clone(),
            format: "kineto",
            rank: peek::rank(source).or(self.named[0]).unwrap_or(0),
            events: 0,
            bytes: source.bytes,
            world_size: None,
            container: source.container,
        })
    }
}

/// Whether an input is a file right in this folder.
pub(crate) fn lies_in(input: &str, folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    let file = Path::new(input).canonicalize();
    file.is_ok_and(|file| file.parent().is_some_and(|parent| parent == folder))
}

/// A question whose answer is merely what each rank says.
struct Each<F>(F);

struct Parts<L>(Vec<L>);

impl<L: Send, F: Fn(u32, View<'_>) -> L + Sync> Question for Each<F> {
    type Local = L;
    type Answer = Parts<L>;

    fn local(&self, rank: u32, view: View<'_>) -> L {
        (self.0)(rank, view)
    }

    fn merge(&self, locals: Vec<L>) -> Parts<L> {
        Parts(locals)
    }
}

impl<L> Serialize for Parts<L> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl<L> Tabular for Parts<L> {
    fn tables(&self) -> Vec<Table> {
        Vec::new()
    }
}
