//! What a file is, by its name: the one place that reads endings.

use std::path::{Path, PathBuf};

/// A sort of file that gpuscope writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Json,
    Csv,
    Parquet,
    Xlsx,
    Html,
    Pdf,
    Svg,
    Png,
    Markdown,
    /// Stacks as lines, for other tools' flame graphs.
    Folded,
    Speedscope,
    /// A trace again.
    Trace(Packing),
}

/// How a trace is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    /// The packing of a trace that is to be written.
    pub fn of(path: &Path) -> Result<Packing, UnknownKind> {
        let traces = [Packing::Plain, Packing::Gzip, Packing::Zstd];
        FileKind::choose(&traces.map(|packing| (FileKind::Trace(packing), packing)), path)
    }
}

impl FileKind {
    /// The first is what people are told.
    fn endings(self) -> &'static [&'static str] {
        match self {
            FileKind::Json => &[".json"],
            FileKind::Csv => &[".csv"],
            FileKind::Parquet => &[".parquet"],
            FileKind::Xlsx => &[".xlsx"],
            FileKind::Html => &[".html", ".htm"],
            FileKind::Pdf => &[".pdf"],
            FileKind::Svg => &[".svg"],
            FileKind::Png => &[".png"],
            FileKind::Markdown => &[".md"],
            FileKind::Folded => &[".collapsed", ".folded"],
            FileKind::Speedscope => &[".speedscope.json"],
            FileKind::Trace(Packing::Plain) => &[".json", ".trace.json", ".trace"],
            FileKind::Trace(Packing::Gzip) => &[".json.gz", ".trace.gz"],
            FileKind::Trace(Packing::Zstd) => &[".json.zst", ".json.zstd", ".trace.zst", ".trace.zstd"],
        }
    }

    /// What a file is to be, among what can be written here. The longest ending counts: `.speedscope.json` is no `.json` where both can be
    /// written; of equal ones, the kind that comes first.
    pub fn choose<T: Copy>(choices: &[(FileKind, T)], path: &Path) -> Result<T, UnknownKind> {
        let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase());
        let name = name.unwrap_or_default();
        let mut found: Option<(T, usize)> = None;
        for (kind, choice) in choices {
            for ending in kind.endings() {
                let is_longer = found.is_none_or(|(_, length)| length < ending.len());
                if is_longer && name.len() > ending.len() && name.ends_with(ending) {
                    found = Some((*choice, ending.len()));
                }
            }
        }
        let kinds = || choices.iter().map(|(kind, _)| *kind).collect();
        found.map(|(choice, _)| choice).ok_or_else(|| UnknownKind { path: path.to_owned(), kinds: kinds() })
    }

    /// Whether a name says this kind.
    pub fn is_of(self, path: &Path) -> bool {
        FileKind::choose(&[(self, ())], path).is_ok()
    }
}

/// A name whose ending says nothing that can be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("-o {}: the extension says no format that can be written", path.display())]
pub struct UnknownKind {
    path: PathBuf,
    kinds: Vec<FileKind>,
}

impl UnknownKind {
    /// The endings that would do: `.svg, .png or .pdf`.
    pub fn endings(&self) -> String {
        let mut endings: Vec<&str> = Vec::new();
        for ending in self.kinds.iter().map(|kind| kind.endings()[0]) {
            if !endings.contains(&ending) {
                endings.push(ending);
            }
        }
        match endings.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
            None => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: [FileKind; 3] = [FileKind::Json, FileKind::Html, FileKind::Speedscope];

    fn among(kinds: &[FileKind], name: &str) -> Result<FileKind, UnknownKind> {
        let choices: Vec<(FileKind, FileKind)> = kinds.iter().map(|kind| (*kind, *kind)).collect();
        FileKind::choose(&choices, Path::new(name))
    }

    #[test]
    fn the_longest_ending_that_can_be_written_counts() {
        assert_eq!(among(&SOME, "a/b.json"), Ok(FileKind::Json));
        assert_eq!(among(&SOME, "b.Speedscope.JSON"), Ok(FileKind::Speedscope));
        assert_eq!(among(&SOME[..2], "b.speedscope.json"), Ok(FileKind::Json));
        assert_eq!(among(&SOME, "b.HTM"), Ok(FileKind::Html));
        let with_trace = [FileKind::Json, FileKind::Trace(Packing::Plain)];
        assert_eq!(among(&with_trace, "b.json"), Ok(FileKind::Json));
        assert_eq!(among(&with_trace, "b.pt.trace.json"), Ok(FileKind::Trace(Packing::Plain)));
        assert_eq!(Packing::of(Path::new("b.json")), Ok(Packing::Plain));
        assert_eq!(Packing::of(Path::new("b.trace.GZ")), Ok(Packing::Gzip));
        assert_eq!(Packing::of(Path::new("b.json.zstd")), Ok(Packing::Zstd));
    }

    #[test]
    fn a_name_that_says_nothing_is_told_what_would_do() {
        for name in ["b", "b.txt", "json", ".json", "/"] {
            assert!(among(&SOME, name).is_err(), "{name}");
        }
        let unknown = among(&SOME, "b.txt").unwrap_err();
        assert_eq!(unknown.to_string(), "-o b.txt: the extension says no format that can be written");
        assert_eq!(unknown.endings(), ".json, .html or .speedscope.json");
        assert_eq!(Packing::of(Path::new("b")).unwrap_err().endings(), ".json, .json.gz or .json.zst");
    }
}
