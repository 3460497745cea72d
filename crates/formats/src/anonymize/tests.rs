use super::*;

fn replaced(rule: Rule, texts: &[&str]) -> Vec<String> {
    let mut anonymizer = Anonymizer::default();
    texts.iter().map(|text| anonymizer.replaced(rule, text)).collect()
}

#[test]
fn frames_of_somebody_go_and_those_of_packages_stay() {
    assert_eq!(
        replaced(
            Rule::Frame,
            &[
                "/data/bob/secret/model.py(12): attend",
                "secret/model.py(40): attend",
                "/data/bob/secret/model.py(99): forward",
                "/data/bob/.venv/lib/python3.11/site-packages/torch/nn/modules/module.py(1773): _call_impl",
                "torch/utils/data/dataloader.py(630): __next__",
                "/usr/lib/python3.11/threading.py(1016): _bootstrap",
                "train.py(1): <module>",
                "nn.Module: Linear_75",
                "nn.Module: SecretBlock_3",
                "<built-in method item of Tensor object at 0x7f31>",
                "<built-in method peek of SecretThing object at 0x7f31>",
                "<built-in function collect>",
                "MyDataLoader.py(3): fetch",
                "what is this",
            ]
        ),
        [
            "file_1.py(12): function_1",
            "file_2.py(40): function_1",
            "file_1.py(99): forward",
            "torch/nn/modules/module.py(1773): _call_impl",
            "torch/utils/data/dataloader.py(630): __next__",
            "threading.py(1016): _bootstrap",
            "file_3.py(1): <module>",
            "nn.Module: Linear_75",
            "nn.Module: module_1_3",
            "<built-in method item of Tensor object at 0x7f31>",
            "<built-in method function_2 of class_1 object at 0x7f31>",
            "<built-in function collect>",
            "file_4.py(3): function_3 DataLoader",
            "function_4",
        ]
    );
}

#[test]
fn annotations_of_frameworks_stay() {
    let kept = [
        "ProfilerStep#12",
        "Optimizer.step#AdamW.step",
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        "nccl:all_reduce",
        "execute_context_1(888)_generation_0(0)",
        "step[DECODE bs=32]",
        "## Call CompiledFxGraph fabc ##",
    ];
    assert_eq!(replaced(Rule::Annotation, &kept), kept);
    assert_eq!(
        replaced(
            Rule::Annotation,
            &["secret phase", "Optimizer.step#Bob.step", "bob_compile", "secret phase"]
        ),
        ["annotation_1", "Optimizer.step#class_1.step", "annotation_2 _compile", "annotation_1"]
    );
}

#[test]
fn stacks_hierarchies_groups_and_labels() {
    assert_eq!(
        replaced(Rule::Stack, &["a/x.py(1): f;torch/y.py(2): g;a/x.py(3): f"]),
        ["file_1.py(1): function_1;torch/y.py(2): g;file_1.py(3): function_1"]
    );
    assert_eq!(
        replaced(Rule::Modules, &["TOP(SecretNet)::forward.blocks(ModuleList)"]),
        ["TOP(module_1)::forward.module_2(ModuleList)"]
    );
    assert_eq!(
        replaced(Rule::Group, &["mesh_tp", "default_pg", "secret_dp", "7"]),
        ["mesh_tp", "default_pg", "group_1", "7"]
    );
    assert_eq!(
        replaced(
            Rule::Label,
            &["tw003 /device:GPU:3", "rank 3", "thread 77 (bob)", "stream 7", "PyTorch Profiler (0)"]
        ),
        ["label_1 /device:GPU:3", "rank 3", "thread 77 (label_2)", "stream 7", "PyTorch Profiler (0)"]
    );
    assert_eq!(
        replaced(Rule::Log, &["bob.cpp:2] Record counts: Out-of-range = 5, secret = 3"]),
        ["text_1.cpp:2] Record counts: Out-of-range = 5, text_2 = 3"]
    );
}

fn edited(text: &str) -> String {
    let mut element = Element::new(0, None, text.as_bytes());
    Anonymizer::default().element(&mut element);
    String::from_utf8(element.text().to_vec()).unwrap()
}

#[test]
fn all_but_names_stays_as_it_stands() {
    assert_eq!(
        edited(
            r#"{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "ts": 5.001, "args": {"Input Dims": [[1, 2], []], "Call stack": "s/a.py(1): f", "tag": "hello 3", "Concrete Inputs": ["", "cuda:0", "secret"], "n": {"k": ["bob"]}}}"#
        ),
        r#"{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "ts": 5.001, "args": {"Input Dims": [[1, 2], []], "Call stack": "file_1.py(1): function_1", "tag": "text_1 3", "Concrete Inputs": ["", "cuda:0", "text_2"], "n": {"k": ["text_3"]}}}"#
    );
    assert_eq!(
        edited(r#"{"ph":"M","name":"process_name","pid":"bob 1","args":{"name":"bob","labels":"GPU 0"}}"#),
        r#"{"ph":"M","name":"process_name","pid":"label_1 1","args":{"name":"label_1","labels":"GPU 0"}}"#
    );
    assert_eq!(edited("\"a note of bob\""), "null");
}

#[test]
fn entries_beside_the_events() {
    let mut anonymizer = Anonymizer::default();
    let mut entry = |key: &str, value: &str| {
        anonymizer.entry(key, value.as_bytes()).unwrap_or_else(|| "as it is".to_owned())
    };
    assert_eq!(entry("deviceProperties", r#"[{"name": "NVIDIA H100"}]"#), "as it is");
    assert_eq!(entry("host_name", r#""bob-laptop""#), r#""host_1""#);
    assert_eq!(entry("traceName", r#""/data/bob/run.json""#), r#""file_1.json""#);
    assert_eq!(entry("with_stack", "1"), "1");
    assert_eq!(entry("PT_PROFILER_JOB", r#"{"user": "bob", "n": 3}"#), r#"{"user": "text_1", "n": 3}"#);
    assert_eq!(
        entry(
            "distributedInfo",
            r#"{"backend": "nccl", "rank": 3, "who": "bob", "pg_config": [{"pg_name": "0", "pg_desc": "bobs tp", "ranks": [0, "..."]}, {"pg_desc": "default_pg"}]}"#
        ),
        r#"{"backend": "nccl", "rank": 3, "who": "text_1", "pg_config": [{"pg_name": "0", "pg_desc": "group_1 tp", "ranks": [0, "..."]}, {"pg_desc": "default_pg"}]}"#
    );
}
