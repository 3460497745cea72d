//! Expected work of operators in real traces, when the corpus is there.

use std::path::Path;

use gpuscope_work::{Call, Models};
use serde_json::Value;

use crate::corpus;

fn rows(file: &Path) -> Vec<Value> {
    let expected: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let checks = expected["checks"].as_array().unwrap();
    checks.iter().flat_map(|check| check["rows"].as_array().unwrap()).cloned().collect()
}

#[test]
fn operators_of_real_traces_have_the_expected_work() {
    let Some(corpus) = corpus() else { return };
    let mut compared = 0;
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(corpus.join("oracle")).unwrap() {
        let file = entry.unwrap().path().join("ops.unique_args.json");
        if !file.exists() {
            continue;
        }
        for row in rows(&file) {
            let text = |key: &str| row[key].to_string();
            let [dims, types, strides, concrete] =
                ["input_dims", "input_types", "input_strides", "concrete_inputs"].map(text);
            let name = row["name"].as_str().unwrap();
            let call = Call { name, dims: &dims, types: &types, strides: &strides, concrete: &concrete };
            let work = Models::built_in().find(name).and_then(|model| model.work(&call));
            let flops = work.as_ref().map(|work| work.flops);
            let bytes = work.as_ref().and_then(|work| work.bytes);
            let expected_flops = row["gflops"].as_f64().map(|gflops| (gflops * 1e9).round() as u128);
            if flops != expected_flops || bytes != row["data_moved_bytes"].as_u64() {
                wrong.push(format!("{row}\n    {work:?}"));
            }
            compared += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 50, "only {compared} operators compared");
}
