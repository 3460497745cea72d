//! Files and archives that are damaged, or packed to do harm: what is wrong is said, with its place and the way out.

use std::io::Write;
use std::time::{Duration, Instant};

use gpuscope_testkit::mutate::mutate;
use gpuscope_testkit::text::trace;

use crate::support::{Folder, gzip, rank};

/// Stored, so that a changed digit leaves everything as it should be but the checksum.
fn stored_gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zip_of(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, bytes) in members {
        zip.start_file(name.as_str(), options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn tar_gz_of(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        tar.append_data(&mut header, name, bytes.as_slice()).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

/// Another digit in the middle of a number.
fn with_another_digit(mut bytes: Vec<u8>) -> Vec<u8> {
    let wanted = b"\"dur\":";
    let at =
        bytes.windows(wanted.len()).position(|window| window == wanted).expect("a duration") + wanted.len();
    let digit = bytes[at..].iter().position(u8::is_ascii_digit).expect("a digit");
    bytes[at + digit] ^= 1;
    bytes
}

#[test]
fn a_changed_digit_is_found_by_the_checksum() {
    let folder = Folder::new();
    let text = rank(0).to_json();
    let (first, second) = text.split_at(text.len() / 2);
    let two = [stored_gzip(first.as_bytes()), stored_gzip(second.as_bytes())].concat();
    let mut zstd = zstd::Encoder::new(Vec::new(), 1).unwrap();
    zstd.include_checksum(true).unwrap();
    zstd.write_all(text.as_bytes()).unwrap();
    let zstd = zstd.finish().unwrap();
    let mut other_sum = zstd.clone();
    *other_sum.last_mut().unwrap() ^= 1;
    let zip = zip_of(&[("rank0.json".to_owned(), text.clone().into_bytes())]);
    let zip_of_gzip = zip_of(&[("rank0.json.gz".to_owned(), stored_gzip(text.as_bytes()))]);
    let gzip = stored_gzip(text.as_bytes());
    for (name, whole, damaged) in [
        ("a.json.gz", gzip.clone(), with_another_digit(gzip.clone())),
        ("b.json.gz", two.clone(), with_another_digit(two)),
        ("c.json.zst", zstd, other_sum),
        ("d.zip", zip.clone(), with_another_digit(zip)),
        ("e.zip", zip_of_gzip.clone(), with_another_digit(zip_of_gzip)),
    ] {
        folder.write(name, whole);
        let path = format!("@{name}");
        assert_eq!(folder.run(&["check", &path]).exit, 0, "{name}");
        folder.write(name, damaged);
        let ran = folder.run(&["check", &path]);
        let convert = folder.run(&["convert", &path, "-o", "@copy.json", "--json"]);
        // A file of one frame gives nothing before its checksum is seen.
        if name.starts_with('c') {
            assert_eq!((ran.exit, convert.exit), (3, 3), "{name}: {}", ran.out);
            assert!(ran.err.contains("checksum"), "{}", ran.err);
            continue;
        }
        assert_eq!(ran.exit, 1, "{name}: {}", ran.out);
        assert!(ran.out.contains("corrupt"), "{name}: {}", ran.out);
        assert!(convert.codes().contains(&"corrupt".to_owned()), "{name}: {:?}", convert.codes());
    }
    // Padding behind the stream is nobody's loss.
    folder.write("f.json.gz", [gzip, vec![0; 1000]].concat());
    assert_eq!(folder.run(&["check", "@f.json.gz"]).exit, 0);
}

#[test]
fn one_trace_takes_no_more_memory_than_allowed() {
    let folder = Folder::new();
    let text = format!("[{}{{}}]", "{\"ph\":\"X\",\"ts\":1},".repeat((1 << 20) + 50_000));
    folder.write("many.json.gz", gzip(&text));
    let ran = folder.run(&["temporal", "@many.json.gz", "--memory", "1"]);
    assert_eq!(ran.exit, 3, "{}", ran.out);
    assert!(ran.err.contains("many.json.gz: its events take more than 67 MB of memory"), "{}", ran.err);
    assert!(ran.err.contains("--memory allows more"), "{}", ran.err);
}

#[test]
fn archives_say_where_they_are_damaged() {
    let folder = Folder::new();
    let members: Vec<(String, Vec<u8>)> =
        (0..3).map(|n| (format!("rank{n}.json"), rank(n).to_json().into_bytes())).collect();
    let zip = zip_of(&members);
    folder.write("cut.zip", &zip[..zip.len() - 30]);
    let ran = folder.run(&["temporal", "@cut.zip"]);
    assert_eq!(ran.exit, 3);
    assert!(ran.err.contains(&format!("at byte {}", zip.len() - 30)), "{}", ran.err);
    let tar = tar_gz_of(&members);
    folder.write("cut.tar.gz", &tar[..tar.len() - 20]);
    let out = folder.run(&["check", "@cut.tar.gz"]).out;
    assert!(out.contains("of the unpacked archive"), "{out}");
}

/// Whatever happens to the bytes, a command ends by itself and says what it found.
#[test]
fn mutated_archives_end_no_command() {
    let folder = Folder::new();
    let members: Vec<(String, Vec<u8>)> =
        (0..2).map(|n| (format!("rank{n}.json"), rank(n).to_json().into_bytes())).collect();
    let single = gzip(&rank(0).to_json());
    let seeds = [("a.zip", zip_of(&members)), ("a.tar.gz", tar_gz_of(&members)), ("a.json.gz", single)];
    let begun = Instant::now();
    for seed in 0..400 {
        for (name, bytes) in &seeds {
            folder.write(name, mutate(bytes, seed));
            let ran = folder.run(&["check", &format!("@{name}"), "--json"]);
            assert!(matches!(ran.exit, 0 | 1 | 3), "{name}, seed {seed}: {} {}", ran.exit, ran.err);
        }
        if begun.elapsed() > Duration::from_secs(5) {
            break;
        }
    }
}

#[test]
fn mutated_traces_end_no_command_and_are_copied_as_json() {
    let folder = Folder::new();
    let own = trace().step(1, 0..100).annotation("forward", 1..50).kernel("gemm", 10..30);
    let seeds = [rank(0).to_json(), own.to_json()];
    let begun = Instant::now();
    for seed in 0..300 {
        for text in &seeds {
            folder.write("a.json", mutate(text.as_bytes(), seed));
            let ran = folder.run(&["analyze", "@a.json", "--json"]);
            assert!(matches!(ran.exit, 0 | 3), "seed {seed}: {} {}", ran.exit, ran.err);
            let ran = folder.run(&["convert", "@a.json", "-o", "@b.json", "--anonymize"]);
            assert!(matches!(ran.exit, 0 | 3), "seed {seed}: {} {}", ran.exit, ran.err);
            if ran.exit == 0 {
                let copy = serde_json::from_str::<serde_json::Value>(&folder.read("b.json"));
                assert!(copy.is_ok(), "seed {seed}");
            }
        }
        if begun.elapsed() > Duration::from_secs(5) {
            break;
        }
    }
}
