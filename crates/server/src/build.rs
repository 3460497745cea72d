//! Which build this is: another one may answer otherwise, so that what was kept by one is nothing to another.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::SystemTime;

/// The version, and when and how large the file was made that this code was loaded from.
pub(crate) fn build() -> &'static str {
    static BUILD: OnceLock<String> = OnceLock::new();
    BUILD.get_or_init(|| {
        let file = own_file().and_then(|file| file.metadata().ok());
        let made = file.and_then(|file| {
            let modified = file.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
            Some(format!("{}.{}", file.len(), modified.as_nanos()))
        });
        format!("{} {}", env!("CARGO_PKG_VERSION"), made.unwrap_or_default())
    })
}

/// The program, or the library that another program has loaded, as the Python package is.
fn own_file() -> Option<PathBuf> {
    let place = build as fn() -> &'static str as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().find_map(|line| mapped(line, place)).or_else(|| std::env::current_exe().ok())
}

/// `55d0-55f0 r-xp 00002000 08:02 173521 /usr/bin/gpuscope`
fn mapped(line: &str, place: usize) -> Option<PathBuf> {
    let (from, rest) = line.split_once('-')?;
    let (to, rest) = rest.split_once(' ')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    let path = &rest[rest.find('/')?..];
    (address(from)?..address(to)?).contains(&place).then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_of_the_file_that_runs() {
        let own = std::env::current_exe().unwrap();
        assert_eq!(own_file().unwrap().canonicalize().unwrap(), own.canonicalize().unwrap());
        assert!(build().contains(&own.metadata().unwrap().len().to_string()), "{}", build());
        let line = "1000-2000 r-xp 00002000 08:02 17 /usr/lib/a b.so";
        assert_eq!(mapped(line, 0x1fff), Some(PathBuf::from("/usr/lib/a b.so")));
        assert_eq!(mapped(line, 0x2000), None);
    }
}
