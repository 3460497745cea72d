//! `diff --tree` against what `TraceLens` says of the same two traces, one from each vendor: every row of theirs is in
//! ours, but where this file says why not.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::corpus::corpus;
use crate::support::Folder;

const A: &str = "mi300_timesformer";
const B: &str = "h100_timesformer";

/// One library adds the bias of a convolution within its own operator, the other after it. Theirs pairs the two additions
/// whatever calls them; ours compares the convolutions with their bias.
const BIAS: &str = "aten::add_ [[128,768,14,14],[1,768,1,1],[]]";
const CONVOLUTION: &str = "aten::_convolution";

/// A module that calls an operator twice with the same arguments: theirs has a row for each call, ours one for the path.
const CALLED_AGAIN: [&str; 4] = [
    "aten::add [[1,25089,768],[1,25089,768],[]]",
    "aten::cat [[[1,1,768],[1,25088,768]],[]]",
    "aten::copy_ [[3136,12,8,64],[3136,12,8,64],[]]",
    "aten::copy_ [[8,12,3137,64],[8,12,3137,64],[]]",
];

/// GPU events and their time in both traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    count: [u64; 2],
    ns: [i64; 2],
}

impl std::iter::Sum for Pair {
    fn sum<I: Iterator<Item = Pair>>(pairs: I) -> Pair {
        pairs.fold(Pair::default(), |a, b| Pair {
            count: [0, 1].map(|side| a.count[side] + b.count[side]),
            ns: [0, 1].map(|side| a.ns[side] + b.ns[side]),
        })
    }
}

/// By operator and arguments, one pair for each place where the traces were matched.
type Pairs = BTreeMap<String, Vec<Pair>>;

/// The rows of a table, by the names of its columns.
fn table(path: &Path) -> Vec<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut rows = vec![vec![String::new()]];
    let mut quoted = false;
    for c in text.chars() {
        let row = rows.last_mut().unwrap();
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(String::new()),
            '\n' if !quoted => rows.push(vec![String::new()]),
            c => row.last_mut().unwrap().push(c),
        }
    }
    let header = rows.remove(0);
    let named = |row: Vec<String>| header.iter().cloned().zip(row).collect();
    rows.into_iter().filter(|row| row.len() == header.len()).map(named).collect()
}

/// What a row of theirs is matched by: the operator with its arguments, or the call around two different ones.
fn matched_by(row: &BTreeMap<String, String>) -> String {
    let (operator, around) = (&row["cpu_op_name"], &row["lowest_common_ancestor_name"]);
    let dims = row["Input Dims"].replace('(', "[").replace(')', "]").replace(",]", "]").replace(' ', "");
    if operator == around { format!("{operator} {dims}") } else { around.clone() }
}

fn side(row: &BTreeMap<String, String>) -> usize {
    usize::from(row["source"] == "trace2")
}

/// Microseconds with three digits; sums of them are off by what floats are off by.
fn ns(microseconds: &str) -> i64 {
    (microseconds.parse::<f64>().unwrap() * 1e3).round() as i64
}

fn theirs(folder: &Path) -> Pairs {
    let mut calls: BTreeMap<(String, u64), Pair> = BTreeMap::new();
    for row in table(&folder.join("diff_stats.csv")) {
        let call = row["lowest_common_ancestor_id"].parse().unwrap();
        let pair = calls.entry((matched_by(&row), call)).or_default();
        pair.count[side(&row)] += 1;
        pair.ns[side(&row)] += ns(&row["kernel_time"]);
    }
    let mut pairs = Pairs::new();
    for ((name, _), pair) in calls {
        pairs.entry(name).or_default().push(pair);
    }
    pairs
}

/// Their summary: a row for each kernel of an operator with its arguments.
fn their_sums(folder: &Path) -> BTreeMap<String, Pair> {
    let mut sums: BTreeMap<String, Pair> = BTreeMap::new();
    for row in table(&folder.join("diff_stats_unique_args_summary.csv")) {
        let pair = sums.entry(matched_by(&row)).or_default();
        pair.count[side(&row)] += row["operation_count"].parse::<u64>().unwrap();
        pair.ns[side(&row)] += ns(&row["kernel_time_sum"]);
    }
    sums
}

fn pair(row: &Value, count: [&str; 2], ns: [&str; 2]) -> Pair {
    Pair {
        count: count.map(|at| row.pointer(at).and_then(Value::as_u64).unwrap()),
        ns: ns.map(|at| row.pointer(at).and_then(Value::as_i64).unwrap()),
    }
}

#[test]
fn every_row_of_a_tree_diff_is_in_ours() {
    let Some(corpus) = corpus() else { return };
    let folder = corpus.join("peers/tracelens").join(format!("{A}__vs__{B}"));
    let [a, b] = [A, B].map(|name| corpus.join(format!("traces/{name}.json.gz")).display().to_string());
    let answer = Folder::new().run(&["diff", "--tree", &a, &b, "--json"]).json()["data"].take();

    let mut ours = Pairs::new();
    for row in answer["rows"].as_array().unwrap() {
        let name = row["path"].as_array().unwrap().last().unwrap().as_str().unwrap();
        let pair = pair(row, ["/a/count", "/b/count"], ["/a/gpu_ns", "/b/gpu_ns"]);
        ours.entry(name.to_owned()).or_default().push(pair);
    }
    let mut our_sums: BTreeMap<String, Pair> = BTreeMap::new();
    for row in answer["operators"].as_array().unwrap() {
        let pair = pair(row, ["/a_count", "/b_count"], ["/a_ns", "/b_ns"]);
        our_sums.insert(row["name"].as_str().unwrap().to_owned(), pair);
    }

    let mut pairs = theirs(&folder);
    let mut sums = their_sums(&folder);
    let bias = pairs.remove(BIAS).unwrap();
    pairs.get_mut(CONVOLUTION).unwrap()[0] = pairs[CONVOLUTION].iter().chain(&bias).copied().sum();
    let bias = sums.remove(BIAS).unwrap();
    sums.insert(CONVOLUTION.to_owned(), [sums[CONVOLUTION], bias].into_iter().sum());

    assert_eq!(our_sums, sums);
    let mut again = Vec::new();
    for (name, mut pairs) in pairs {
        let own = ours.get_mut(&name).unwrap();
        if own.len() < pairs.len() {
            assert_eq!(own.iter().copied().sum::<Pair>(), pairs.into_iter().sum(), "{name}");
            again.push(name);
            continue;
        }
        own.sort_unstable();
        pairs.sort_unstable();
        assert_eq!(own, &pairs, "{name}");
    }
    assert_eq!(again, CALLED_AGAIN);
    assert_eq!(our_sums.len(), ours.len());
}
