use std::fs;

use super::*;

fn names(folder: &Path) -> Vec<String> {
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(name).collect();
    names.sort();
    names
}

fn put(path: &Path, text: &str) -> io::Result<u64> {
    write(path, Privacy::AsUsual, |file| file.write_all(text.as_bytes()))
}

#[test]
fn the_old_file_stays_until_the_new_one_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    fs::write(&path, "old").unwrap();
    let mut file = NewFile::create(&path, Privacy::AsUsual).unwrap();
    file.write_all(&vec![b'n'; 100_000]).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(file.finish().unwrap(), 100_000);
    assert_eq!(fs::read(&path).unwrap().len(), 100_000);
    assert_eq!(names(folder.path()), ["a.txt"]);
}

#[test]
fn what_fails_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    fs::write(&path, "old").unwrap();
    let broken = write(&path, Privacy::AsUsual, |file| {
        file.write_all(&vec![b'n'; 100_000])?;
        Err(io::Error::other("the work failed"))
    });
    assert_eq!(broken.unwrap_err().to_string(), "the work failed");
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names(folder.path()), ["a.txt"]);
}

#[test]
fn drafts_with_a_name_are_replaced_and_dropped_alike() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    fs::write(&path, "old").unwrap();
    let dropped = Draft::named(folder.path(), 0o600).unwrap();
    assert_eq!(names(folder.path()).len(), 2);
    drop(dropped);
    assert_eq!(names(folder.path()), ["a.txt"]);
    let draft = Draft::named(folder.path(), 0o600).unwrap();
    draft.file().unwrap().write_all(b"new").unwrap();
    draft.persist(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
}

#[test]
fn a_folder_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(put(folder.path(), "new").unwrap_err().kind(), io::ErrorKind::IsADirectory);
    assert!(put(&folder.path().join("no/such.txt"), "new").is_err());
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_link_is_replaced_and_what_it_points_to_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (link, other) = (folder.path().join("a.txt"), folder.path().join("other.txt"));
        fs::write(&other, "other").unwrap();
        symlink(&other, &link).unwrap();
        put(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "other");
        assert_eq!(fs::read_to_string(&link).unwrap(), "new");
        assert!(!link.symlink_metadata().unwrap().is_symlink());
    }

    #[test]
    fn the_umask_the_purpose_and_the_old_file_decide_who_may_read() {
        let folder = tempfile::tempdir().unwrap();
        let [usual, plain, private, kept] = ["a", "b", "c", "d"].map(|name| folder.path().join(name));
        fs::write(&plain, "").unwrap();
        put(&usual, "new").unwrap();
        assert_eq!(mode(&usual), mode(&plain), "as any program's files");
        write(&private, Privacy::Private, |_| io::Result::Ok(())).unwrap();
        assert_eq!(mode(&private), 0o600);
        for old in [0o640, 0o600, 0o666, 0o755] {
            fs::write(&kept, "old").unwrap();
            fs::set_permissions(&kept, PermissionsExt::from_mode(old)).unwrap();
            put(&kept, "new").unwrap();
            assert_eq!(mode(&kept), old);
        }
        let named = Draft::named(folder.path(), 0o640).unwrap();
        assert_eq!(named.file().unwrap().metadata().unwrap().permissions().mode() & 0o137, 0);
    }

    #[test]
    fn pipes_and_devices_get_the_bytes_as_they_come() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reading = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        put(&pipe, "through").unwrap();
        assert_eq!(reading.join().unwrap(), "through");
        put(Path::new("/dev/null"), "gone").unwrap();
        assert_eq!(names(folder.path()), ["pipe"]);
    }

    #[test]
    fn handles_of_open_files_are_written_through() {
        use std::os::fd::AsRawFd;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let open = File::create(&path).unwrap();
        let handle = format!("/dev/fd/{}", open.as_raw_fd());
        if Path::new(&handle).exists() {
            put(Path::new(&handle), "through").unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "through");
        }
    }
}
