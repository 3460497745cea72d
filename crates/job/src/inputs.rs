//! Which files a run is about: files, folders, globs, archives and standard input become a list of sources.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gpuscope_formats::Compression;
use gpuscope_formats::format::{self, Format};

use crate::archive::{self, Members};
use crate::error::Error;
use crate::natural;
use crate::path_text::path_of;
use crate::source::{Content, Head, Source, Stored};

/// Standard input up to this size stays in memory.
const SPOOL_BYTES: u64 = 256 << 20;

#[derive(Debug, Default)]
pub(crate) struct Found {
    pub sources: Vec<Source>,
    /// Inputs that gave nothing to read.
    pub failures: Vec<Error>,
}

/// Which of the files in a folder or an archive are meant.
pub(crate) type Wanted = fn(&Source) -> bool;

/// Finds the traces of a run, in the order of the arguments and by name within a folder.
pub(crate) fn find(arguments: &[String], stdin: &mut dyn Read) -> Found {
    find_wanted(arguments, stdin, worth_reading)
}

/// The same for files of another sort.
pub(crate) fn find_wanted(arguments: &[String], stdin: &mut dyn Read, wanted: Wanted) -> Found {
    let mut found = Found::default();
    for argument in arguments {
        if argument == "-" {
            found.add(from_stdin(stdin, wanted));
        } else if path_of(argument).is_dir() && format_of_folder(&path_of(argument)).is_none() {
            found.add_folder(&path_of(argument), wanted);
        } else if !path_of(argument).exists() && argument.contains(['*', '?', '[']) {
            found.add_glob(argument, wanted);
        } else {
            found.add(from_file(&path_of(argument), false, wanted));
        }
    }
    found
}

impl Found {
    fn add(&mut self, members: Result<Members, Error>) {
        match members {
            Ok(Members { sources, damage }) => {
                self.sources.extend(sources);
                self.failures.extend(damage);
            }
            Err(error) => self.failures.push(error),
        }
    }

    fn add_folder(&mut self, folder: &Path, wanted: Wanted) {
        let shown = folder.to_string_lossy();
        if let Err(source) = fs::read_dir(folder) {
            return self.failures.push(Error::io(&shown, source));
        }
        let mut files = Vec::new();
        Visited::default().walk(folder, &mut files, &mut self.failures);
        self.add_discovered(&shown, files, wanted);
    }

    fn add_glob(&mut self, pattern: &str, wanted: Wanted) {
        let mut folders = Visited::default();
        let mut files = Vec::new();
        let paths = match glob::glob(pattern) {
            Ok(paths) => paths,
            Err(error) => {
                let reason = format!("at character {}: {}", error.pos + 1, error.msg);
                return self.failures.push(Error::Pattern { pattern: pattern.to_owned(), reason });
            }
        };
        for path in paths {
            match path {
                Ok(path) if path.is_dir() => folders.walk(&path, &mut files, &mut self.failures),
                Ok(path) => push_file(path, &mut files),
                Err(error) => {
                    let shown = error.path().to_string_lossy().into_owned();
                    self.failures.push(Error::io(&shown, error.into()));
                }
            }
        }
        if files.is_empty() {
            return self.failures.push(Error::NoMatch { pattern: pattern.to_owned() });
        }
        self.add_discovered(pattern, files, wanted);
    }

    fn add_discovered(&mut self, place: &str, files: Vec<PathBuf>, wanted: Wanted) {
        let before = self.sources.len() + self.failures.len();
        let count = files.len();
        let files = distinct(files);
        for path in &files {
            match from_file(path, true, wanted) {
                Ok(mut members) => {
                    members.sources.retain(|source| wanted(source) && !is_exported(source, &files));
                    self.add(Ok(members));
                }
                // An archive of something else is no business of ours.
                Err(Error::NoTraces { .. }) => {}
                Err(error) => self.failures.push(error),
            }
        }
        if before == self.sources.len() + self.failures.len() {
            self.failures.push(no_traces(place, count));
        }
    }
}

fn from_stdin(stdin: &mut dyn Read, wanted: Wanted) -> Result<Members, Error> {
    let fail = |source| Error::io("-", source);
    let mut bytes = Vec::new();
    let more = stdin.take(SPOOL_BYTES).read_to_end(&mut bytes).map_err(fail)? as u64 == SPOOL_BYTES;
    let stored = if more {
        spooled(bytes.as_slice().chain(stdin)).map_err(fail)?
    } else {
        Stored::Memory(Arc::from(bytes))
    };
    sources_of("-", stored, false, wanted)
}

pub(crate) fn from_file(path: &Path, discovered: bool, wanted: Wanted) -> Result<Members, Error> {
    let shown = path.to_string_lossy();
    let shown = shown.strip_prefix("./").unwrap_or(&shown);
    if let Some(format) = format_of_folder(path) {
        return Ok(whole_folder(path, shown.trim_end_matches('/'), format, discovered));
    }
    let stored = match fs::metadata(path) {
        // Devices have no end, and a tape or a disk is no trace.
        Ok(metadata) if is_device(&metadata) => return Err(Error::Device { path: shown.to_owned() }),
        // A pipe such as `<(zcat …)` can be read only once.
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => {
            fs::File::open(path).and_then(spooled).map_err(|source| Error::io(shown, source))?
        }
        _ => Stored::File(path.to_owned()),
    };
    sources_of(shown, stored, discovered, wanted)
}

/// The format of a folder that is one input.
pub(crate) fn format_of_folder(path: &Path) -> Option<&'static Format> {
    let entries = fs::read_dir(path).ok()?;
    let names: Vec<_> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    format::of_folder(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

fn whole_folder(path: &Path, shown: &str, format: &'static Format, discovered: bool) -> Members {
    let lengths =
        fs::read_dir(path).into_iter().flatten().filter_map(|file| Some(file.ok()?.metadata().ok()?.len()));
    let source = Source {
        path: shown.to_owned(),
        bytes: lengths.sum(),
        content: Content::Whole(Stored::File(path.to_owned())),
        head: Head { format: Some(format), is_certain: true, ..Head::default() },
        container: Compression::None.name(),
        discovered,
    };
    Members { sources: vec![source], damage: None }
}

fn spooled(input: impl Read) -> io::Result<Stored> {
    let (stored, read) = archive::spool(input)?;
    read.map(|()| stored)
}

#[cfg(unix)]
fn is_device(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    metadata.file_type().is_char_device() || metadata.file_type().is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: &fs::Metadata) -> bool {
    false
}

/// The file itself, or the members of the archive that it is.
fn sources_of(path: &str, stored: Stored, discovered: bool, wanted: Wanted) -> Result<Members, Error> {
    let fail = |source| Error::io(path, source);
    let head = stored.open().and_then(Head::of).map_err(fail)?;
    if head.archive.is_some() {
        let Members { mut sources, damage } = archive::members(path, &stored, head);
        let count = sources.len();
        sources.retain(wanted);
        return match damage {
            Some(damage) if sources.is_empty() => Err(damage),
            None if sources.is_empty() => Err(no_traces(path, count)),
            damage => Ok(Members { sources, damage }),
        };
    }
    let bytes = stored.bytes().map_err(fail)?;
    let container = head.compression.name();
    let path = path.to_owned();
    let source = Source { path, content: Content::Whole(stored), bytes, head, container, discovered };
    Ok(Members { sources: vec![source], damage: None })
}

/// Each file once, by name. A link `latest.json` beside what it points at is one trace, and the file's own name
/// is the better one.
fn distinct(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut seen = HashSet::new();
    let (links, plain): (Vec<_>, Vec<_>) = files.into_iter().partition(|path| path.is_symlink());
    let mut distinct: Vec<PathBuf> = plain
        .into_iter()
        .chain(links)
        .filter(|path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())))
        .collect();
    distinct.sort_by_key(|path| natural::key(&path.to_string_lossy()));
    distinct
}

/// Files beside the traces (scripts, logs, notes, answers of ours) are passed over by their first bytes and their name.
fn worth_reading(source: &Source) -> bool {
    (source.looks_like_trace() || source.head.format.is_some()) && !source.head.answer
}

/// What was exported of it lies beside it.
fn is_exported(source: &Source, files: &[PathBuf]) -> bool {
    let ending = source.head.format.and_then(|format| format.exported_as);
    ending.is_some_and(|ending| files.contains(&Path::new(&source.path).with_extension(ending)))
}

pub(crate) fn no_traces(path: &str, files: usize) -> Error {
    let found = match files {
        0 => "no file".to_owned(),
        1 => "1 file, which is none".to_owned(),
        files => format!("{files} files, none of which is one"),
    };
    Error::NoTraces { path: path.to_owned(), found }
}

/// A pipe among the files would be waited for forever, so only what is a file or a broken link is taken.
fn push_file(path: PathBuf, files: &mut Vec<PathBuf>) {
    if fs::metadata(&path).map_or(true, |metadata| metadata.is_file()) {
        files.push(path);
    }
}

/// The folders walked so far, so that links in a circle end.
#[derive(Debug, Default)]
struct Visited(HashSet<PathBuf>);

impl Visited {
    fn walk(&mut self, folder: &Path, files: &mut Vec<PathBuf>, failures: &mut Vec<Error>) {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        if !self.0.insert(real) {
            return;
        }
        let unreadable = |source| Error::io(&folder.to_string_lossy(), source);
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            // What is in there is not known, and may be ranks of the run.
            Err(error) => return failures.push(unreadable(error)),
        };
        if format_of_folder(folder).is_some() {
            return files.push(folder.to_owned());
        }
        let mut links = Vec::new();
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return failures.push(unreadable(error)),
            };
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            let path = entry.path();
            match (path.is_dir(), path.is_symlink()) {
                // Links last, so that a folder is found under its own name first.
                (true, true) => links.push(path),
                (true, false) => self.walk(&path, files, failures),
                (false, _) => push_file(path, files),
            }
        }
        for link in links {
            self.walk(&link, files, failures);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(found: &Found) -> Vec<&str> {
        found.sources.iter().map(Source::base_name).collect()
    }

    fn find_in(path: &Path) -> Found {
        find(&[path.to_string_lossy().into_owned()], &mut io::empty())
    }

    #[test]
    fn a_folder_gives_its_traces_by_number_and_passes_the_rest_over() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["rank10.json", "rank2.json", "notes.txt", ".hidden.json"] {
            fs::write(folder.path().join(name), "text").unwrap();
        }
        fs::create_dir(folder.path().join("sub")).unwrap();
        fs::write(folder.path().join("sub/odd_name"), "{}").unwrap();
        let found = find_in(folder.path());
        assert_eq!(names(&found), ["rank2.json", "rank10.json", "odd_name"]);
        assert!(found.failures.is_empty());
    }

    #[test]
    fn a_folder_without_traces_is_said() {
        let folder = tempfile::tempdir().unwrap();
        assert!(find_in(folder.path()).failures[0].to_string().ends_with("found no file"));
        fs::write(folder.path().join("notes.txt"), "text").unwrap();
        assert!(find_in(folder.path()).failures[0].to_string().ends_with("1 file, which is none"));
    }

    #[test]
    fn a_folder_that_cannot_be_read_is_named() {
        let (mut files, mut failures) = (Vec::new(), Vec::new());
        Visited::default().walk(Path::new("/nowhere/ranks"), &mut files, &mut failures);
        assert_eq!(failures[0].to_string(), "/nowhere/ranks: no such file or folder");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_once() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("run")).unwrap();
        fs::write(at("run/rank0.json"), "{}").unwrap();
        symlink(folder.path(), at("run/circle")).unwrap();
        symlink(at("run/rank0.json"), at("a_link.json")).unwrap();
        symlink(at("run"), at("again")).unwrap();
        assert_eq!(names(&find_in(folder.path())), ["rank0.json"]);
        assert_eq!(names(&find_in(&at("again"))), ["rank0.json"]);
    }

    #[test]
    fn a_glob_without_a_match_names_itself() {
        let found = find(&["/nowhere/*.json".to_owned()], &mut io::empty());
        assert_eq!(found.failures[0].to_string(), "/nowhere/*.json: no file matches this pattern");
    }

    #[test]
    fn members_of_archives_are_inputs() {
        let folder = tempfile::tempdir().unwrap();
        let mut tar = tar::Builder::new(Vec::new());
        for (name, text) in [("job/rank1.json", "{}"), ("job/notes.txt", "hello"), ("job/rank0.json", "{}")] {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            tar.append_data(&mut header, name, text.as_bytes()).unwrap();
        }
        let plain = tar.into_inner().unwrap();
        let packed = zstd::encode_all(&plain[..], 1).unwrap();
        for (name, bytes) in [("job.tar", plain), ("job.bin", packed)] {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            let found = find_in(&path);
            assert_eq!(names(&found), ["rank1.json", "rank0.json"]);
            let mut text = String::new();
            found.sources[0].with_reader(|reader| reader.read_to_string(&mut text).unwrap()).unwrap();
            assert_eq!(text, "{}");
        }
    }
}
