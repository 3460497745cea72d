//! `TraceLens`' counts of the same calls: equal, but where this list says why not.

use std::collections::BTreeSet;

use gpuscope_work::{Call, Models};

use crate::corpus;

/// Operators whose work is counted differently on purpose; the reasons are in `docs/work-models.md`.
const DIFFERENT: &[&str] = &[
    "aten::_fused_rms_norm",
    "aten::_fused_rms_norm_backward",
    "aten::batch_norm",
    "aten::convolution",
    "aten::convolution_backward",
    "aten::copy_",
    "aten::cumsum",
    "aten::group_norm",
    "aten::instance_norm",
    "aten::layer_norm",
    "aten::mean",
    "aten::miopen_batch_norm_backward",
    "aten::native_batch_norm_backward",
    "aten::native_group_norm_backward",
    "aten::native_layer_norm_backward",
    "aten::sum",
    "aten::upsample_nearest1d",
    "sgl_kernel::rotary_embedding",
    "sglang::store_cache",
    "triton_poi_fused_",
];

#[test]
fn differences_have_a_reason() {
    let reasons = include_str!("../../../../docs/work-models.md");
    for name in DIFFERENT {
        assert!(reasons.contains(&format!("`{name}")), "{name}");
    }
}

/// The rows of a table, by column.
fn rows(text: &str) -> Vec<Vec<String>> {
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
    rows
}

/// A tuple as Python prints it, as JSON has it.
fn json(tuple: &str) -> String {
    tuple.replace('(', "[").replace(')', "]").replace(",]", "]").replace('\'', "\"")
}

#[test]
fn counts_agree_with_tracelens_or_are_listed() {
    let Some(corpus) = corpus() else { return };
    let mut compared = 0;
    let mut different = BTreeSet::new();
    let mut unlisted = Vec::new();
    for entry in std::fs::read_dir(corpus.join("peers/tracelens")).unwrap() {
        let file = entry.unwrap().path().join("perf_report_csvs/unified_perf_summary.csv");
        let Ok(text) = std::fs::read_to_string(file) else { continue };
        let mut table = rows(&text).into_iter();
        let header = table.next().unwrap();
        let column = |name: &str| header.iter().position(|known| known == name).unwrap();
        let columns =
            ["name", "Input Dims", "Input type", "Concrete Inputs", "GFLOPS", "Data Moved (MB)"].map(column);
        for row in table.filter(|row| row.len() == header.len()) {
            let [name, dims, types, concrete, gflops, megabytes] = columns.map(|at| row[at].as_str());
            let Ok(gflops) = gflops.parse::<f64>() else { continue };
            let [dims, types, concrete] = [dims, types, concrete].map(json);
            let call = Call { name, dims: &dims, types: &types, strides: "", concrete: &concrete };
            let work = Models::built_in().find(name).and_then(|model| model.work(&call));
            let flops = (gflops * 1e9).round() as u128;
            let bytes =
                megabytes.parse::<f64>().ok().map(|megabytes| (megabytes * 1_048_576.0).round() as u64);
            compared += 1;
            if work.as_ref().is_none_or(|work| (work.flops, work.bytes) != (flops, bytes)) {
                let name = if name.starts_with("triton_poi_fused_") { "triton_poi_fused_" } else { name };
                different.insert(name.to_owned());
                if !DIFFERENT.contains(&name) {
                    let ours = work.map(|work| (work.flops, work.bytes));
                    unlisted.push(format!(
                        "{name} {dims} {types} {concrete}\n    {flops} {bytes:?} but {ours:?}"
                    ));
                }
            }
        }
    }
    assert!(unlisted.is_empty(), "{} of {compared}:\n{}", unlisted.len(), unlisted.join("\n"));
    assert!(compared > 200, "only {compared} calls compared");
    let listed: BTreeSet<_> = DIFFERENT.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(different, listed, "listed as different but equal");
}
