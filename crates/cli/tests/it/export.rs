//! Workbooks, Parquet files and folders, read back and held against the JSON and CSV of the same answer.

use std::collections::BTreeMap;

use calamine::{Data, Reader, Xlsx, open_workbook};
use gpuscope_testkit::{Compression, Plan, write_job};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use crate::support::Folder;

/// Commands whose tables have integers, floats, texts, gaps, and names with all sorts of letters. `analyze` has several
/// tables of one name, and says something on standard output, too.
const COMMANDS: [&str; 6] = ["analyze", "breakdown", "kernels", "collectives", "idle", "stragglers"];

fn job() -> Folder {
    let folder = Folder::new();
    let plan = Plan::small().ranks(4).layers(4).pipeline(2, 3).with_straggler(1, 130);
    write_job(&plan, &folder.path("job"), Compression::None).expect("written");
    folder
}

/// Heading and rows of every table as CSV has them, by table.
fn as_csv(folder: &Folder, command: &str) -> BTreeMap<String, Vec<Vec<String>>> {
    let ran = folder.run(&[command, "@job", "-o", "@csv/"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
    let mut tables = BTreeMap::new();
    for entry in std::fs::read_dir(folder.path("csv")).expect("a folder") {
        let path = entry.expect("a file").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        tables.insert(name, parsed(&std::fs::read_to_string(&path).expect("text")));
        std::fs::remove_file(path).expect("removed");
    }
    tables
}

pub(crate) fn parsed(csv: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut letters = csv.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => cell.extend(letters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            letter => cell.push(letter),
        }
    }
    rows
}

/// Whether two cells say the same; numbers in a spreadsheet are floats.
fn same(a: &str, b: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok().map(f64::to_bits);
    a == b || number(a).is_some() && number(a) == number(b)
}

fn assert_same(label: &str, found: &[Vec<String>], expected: &[Vec<String>]) {
    assert_eq!(found.len(), expected.len(), "{label}");
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.len(), expected.len(), "{label}");
        let equal = found.iter().zip(expected).all(|(found, expected)| same(found, expected));
        assert!(equal, "{label}: {found:?} is not {expected:?}");
    }
}

#[test]
fn a_workbook_has_every_cell_of_every_table() {
    let folder = job();
    for command in COMMANDS {
        let ran = folder.run(&[command, "@job", "-o", "@all.xlsx"]);
        assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
        let mut book: Xlsx<_> = open_workbook(folder.path("all.xlsx")).expect("a workbook");
        let tables = as_csv(&folder, command);
        let own = book.sheet_names().into_iter().filter(|name| !name.starts_with('_')).count();
        assert_eq!(own, tables.len(), "{command}");
        for (name, expected) in tables {
            let sheet = book.worksheet_range(&name).expect("a sheet for every table");
            let text = |cell: &Data| match cell {
                Data::Empty => String::new(),
                cell => cell.to_string(),
            };
            // A sheet ends with its last cell that is not empty.
            let width = expected[0].len();
            let mut found: Vec<Vec<String>> =
                sheet.rows().map(|row| row.iter().map(text).collect()).collect();
            for row in &mut found {
                row.resize(width, String::new());
            }
            assert_same(&format!("{command} {name}"), &found, &expected);
        }
        let inputs = book.worksheet_range("_inputs").expect("a sheet about the inputs");
        assert_eq!(inputs.height(), 5);
    }
}

#[test]
fn parquet_has_every_cell_of_a_table() {
    let folder = job();
    for command in COMMANDS {
        let ran = folder.run(&[command, "@job", "-o", "@all.parquet/"]);
        assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
        for (name, expected) in as_csv(&folder, command) {
            let file =
                std::fs::File::open(folder.path(&format!("all.parquet/{name}.parquet"))).expect("a file");
            assert_same(&format!("{command} {name}"), &rows(file), &expected);
        }
    }
    let ran = folder.run(&["kernels", "@job", "--table", "kernels", "-o", "@one.parquet"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
    let one = SerializedFileReader::new(std::fs::File::open(folder.path("one.parquet")).expect("a file"));
    let one = one.expect("Parquet");
    let metadata = one.metadata().file_metadata();
    let meaning =
        metadata.key_value_metadata().and_then(|pairs| pairs.iter().find(|pair| pair.key == "gpuscope"));
    let meaning: serde_json::Value =
        serde_json::from_str(meaning.and_then(|pair| pair.value.as_deref()).expect("JSON")).expect("JSON");
    assert_eq!(
        (meaning["table"].as_str(), meaning["columns"][0]["name"].as_str()),
        (Some("kernels"), Some("rank"))
    );
}

/// Heading and rows of a Parquet file, as CSV would have them.
fn rows(file: std::fs::File) -> Vec<Vec<String>> {
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let fields = reader.metadata().file_metadata().schema().get_fields();
    let mut rows = vec![fields.iter().map(|field| field.name().to_owned()).collect()];
    let text = |field: &Field| match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Long(value) => value.to_string(),
        Field::Double(value) => value.to_string(),
        other => panic!("{other:?}"),
    };
    for row in reader.get_row_iter(None).expect("rows") {
        rows.push(row.expect("a row").get_column_iter().map(|(_, field)| text(field)).collect());
    }
    rows
}

#[test]
fn a_folder_is_made_and_files_are_not_taken_for_one() {
    let folder = job();
    assert_eq!(folder.run(&["overlap", "@job", "-o", "@new/"]).exit, 0);
    assert!(folder.read("new/ranks.csv").starts_with("rank,comm_ns"));
    let ran = folder.run(&["overlap", "@job", "-o", "@no/such/"]);
    assert_eq!(ran.exit, 2);
    assert!(ran.err.contains("there is no folder"), "{}", ran.err);
    let ran = folder.run(&["overlap", "@job", "-o", "@new/ranks.csv/"]);
    assert_eq!(ran.exit, 2);
    assert!(ran.err.contains("is a file"), "{}", ran.err);
    let ran = folder.run(&["overlap", "@job", "-o", "@new", "--json"]);
    assert_eq!(ran.exit, 2);
    assert!(ran.err.contains("name a file"), "{}", ran.err);
}

#[test]
fn columns_are_explained() {
    let folder = job();
    let csv = folder.run(&["overlap", "@job", "--explain", "--csv"]).out;
    assert!(csv.starts_with("table,column,unit,meaning\r\nranks,rank,,The rank\r\n"), "{csv}");
    assert!(csv.contains("ranks,comm_ns,nanoseconds,"), "{csv}");
    let table = folder.run(&["overlap", "@job", "--explain"]).out;
    assert!(table.contains("What the columns mean") && table.contains("overlap_pct"), "{table}");
}
