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
                "/opt/bob/torch/optim/zorkadam.py(3): step",
                "/usr/lib/python3.11/threading.py(1016): _bootstrap",
                "train.py(1): <module>",
                "train.py(1): <zork>",
                "nn.Module: Linear_75",
                "nn.Module: SecretBlock_3",
                "<built-in method item of Tensor object at 0x7f312345>",
                "<built-in method zork_fused_fwd of ZorkThing object at 0x7f312345>",
                "<built-in function collect>",
                "MyDataLoader.py(3): fetch",
                "zork.py(3): sync_zork_grads",
                "what is this",
            ]
        ),
        [
            "file_1.py(12): function_1",
            "file_2.py(40): function_1",
            "file_1.py(99): forward",
            "torch/nn/modules/module.py(1773): _call_impl",
            "torch/utils/data/dataloader.py(630): __next__",
            "torch/optim/word1.py(3): step",
            "threading.py(1016): _bootstrap",
            "file_3.py(1): <module>",
            "file_3.py(1): function_2",
            "nn.Module: Linear_75",
            "nn.Module: module_1_3",
            "<built-in method item of Tensor object at 0x1>",
            "<built-in method word2_fused_fwd of Word3 object at 0x1>",
            "<built-in function collect>",
            "file_4.py(3): function_3 DataLoader",
            "file_5.py(3): function_4 grad sync",
            "function_5",
        ]
    );
}

#[test]
fn annotations_of_frameworks_stay() {
    let kept = [
        "ProfilerStep#1234567",
        "Optimizer.step#AdamW.step",
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        "nccl:all_reduce",
        "execute_context_1(88888)_generation_0(0)",
        "step[DECODE bs=32]",
        "capture_32_FULL",
        "## forward ##",
    ];
    assert_eq!(replaced(Rule::Annotation, &kept), kept);
    assert_eq!(
        replaced(
            Rule::Annotation,
            &[
                "zork phase",
                "Optimizer.step#Zork.step",
                "Optimizer.step#ZorkAdam8bit.step",
                "bob_compile",
                "zork phase",
                "FSDP::all_gather (zork.layers.0)",
                "## forward:zork ##",
                "## load_batch zork ##",
                "execute_context_2(1024)_generation_30(30)_zork",
                "execute_zork_48213",
                "nccl:zork_reduce",
            ]
        ),
        [
            "annotation_1",
            "Optimizer.step#class_1.step",
            "Optimizer.step#class_2Adam.step",
            "annotation_2 _compile",
            "annotation_1",
            "FSDP::all_gather (word1.layers.0)",
            "forward: annotation_3",
            "annotation_4 load_batch",
            "execute_context_2(1024)_generation_30(30)_word1",
            "execute_word1_number_1",
            "nccl:word1_reduce",
        ]
    );
}

#[test]
fn stacks_hierarchies_groups_and_labels() {
    assert_eq!(
        replaced(Rule::Stack, &["a/x.py(1): f;torch/y.py(2): g; a/x.py(3): f"]),
        ["file_1.py(1): function_1;torch/y.py(2): g; file_1.py(3): function_1"]
    );
    assert_eq!(
        replaced(Rule::Modules, &["TOP(SecretNet)::forward.blocks(ModuleList)"]),
        ["TOP(module_1)::forward.module_2(ModuleList)"]
    );
    assert_eq!(
        replaced(Rule::Group, &["mesh_tp", "default_pg", "zork_dp", "7", "zork3", "ZorkDP"]),
        ["mesh_tp", "default_pg", "word1_dp", "7", "word1_3", "Word2"]
    );
    assert_eq!(
        replaced(
            Rule::Label,
            &["tw003 /device:GPU:3", "rank 3", "thread 48213 (bob)", "stream 7", "PyTorch Profiler (0)"]
        ),
        ["label_1 /device:GPU:3", "rank 3", "thread 48213 (label_2)", "stream 7", "PyTorch Profiler (0)"]
    );
    assert_eq!(
        replaced(Rule::Log, &["bob.cpp:2] Record counts: Out-of-range = 5, secret = 3 at 10.1.2.3"]),
        ["text_1.cpp:2] Record counts: Out-of-range = 5, text_2 = 3 text_3 address_1"]
    );
    assert_eq!(
        replaced(
            Rule::TraceName,
            &[
                "/log/bobs-box_4711.1712345678.pt.trace.json",
                "/data/bob/run.json",
                "rank3_77.17.pt.trace.json"
            ]
        ),
        ["host-1_1.1.pt.trace.json", "file_1.json", "rank_file_2"]
    );
    assert_eq!(
        replaced(Rule::Category, &["kernel", "zork", "zork_runtime", "xpu_zork", ""]),
        ["kernel", "category_1", "category_2_runtime", "xpu_category_3", ""]
    );
}

#[test]
fn what_is_public_of_kernels_and_operators_stays() {
    let kept = [
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int)",
        "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "aten::scaled_dot_product_attention",
        "autograd::engine::evaluate_function: AddmmBackward0",
        "cudaLaunchKernelExC",
        "Memcpy HtoD (Pageable -> Device)",
        "triton_poi_fused_add_mul_0",
    ];
    assert_eq!(replaced(Rule::Public, &kept), kept);
    assert_eq!(
        replaced(Rule::Public, &["zork_fused_fwd<128>", "zork::gemm", "ZorkFnBackward"]),
        ["word1_fused_fwd<128>", "word1::gemm", "Word1FnBackward"]
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
            r#"{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "ts": 5.001, "args": {"Input Dims": [[1, 2], []], "Call stack": "s/a.py(1): f", "tag": "hello 3", "Concrete Inputs": ["", "cuda:0", "[1048576]", "zork"], "n": {"k": ["bob", 48213, 7]}}, "zork": 1}"#
        ),
        r#"{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "ts": 5.001, "args": {"Input Dims": [[1, 2], []], "Call stack": "file_1.py(1): function_1", "key_1": "text_1 3", "Concrete Inputs": ["", "cuda:0", "[1048576]", "word1"], "key_2": {"key_3": ["text_2", 0, 7]}}, "key_4": 1}"#
    );
    assert_eq!(
        edited(r#"{"ph":"M","name":"process_name","pid":"bob 1","args":{"name":"bob","labels":"GPU 0"}}"#),
        r#"{"ph":"M","name":"process_name","pid":"label_1 1","args":{"name":"label_1","labels":"GPU 0"}}"#
    );
    assert_eq!(
        edited(r#"{"ph":"C","name":"GPU zork","ts":1,"args":{"zork.sum":48213.5,"device":0}}"#),
        r#"{"ph":"C","name":"GPU word1","ts":1,"args":{"word1.sum":48213.5,"device":0}}"#
    );
    assert_eq!(edited("\"a note of bob\""), "null");
}

#[test]
fn entries_beside_the_events() {
    let mut anonymizer = Anonymizer::default();
    let mut entry = |key: &str, value: &str| {
        let new = anonymizer.key(key).unwrap_or_else(|| key.to_owned());
        format!("{new}: {}", anonymizer.entry(key, value.as_bytes()).unwrap_or_default())
    };
    assert_eq!(
        entry(
            "deviceProperties",
            r#"[{"name": "NVIDIA H100 80GB HBM3", "id": 0, "totalGlobalMem": 85000000000, "uuid": "GPU-zork"}]"#
        ),
        r#"deviceProperties: [{"name": "NVIDIA H100 80GB HBM3", "id": 0, "totalGlobalMem": 85000000000, "key_1": "text_1-text_2"}]"#
    );
    assert_eq!(entry("host_name", r#""bob-laptop""#), r#"host_name: "host-1""#);
    assert_eq!(entry("traceName", r#""/data/bob/run.json""#), r#"traceName: "file_1.json""#);
    assert_eq!(entry("with_stack", "1"), "with_stack: 1");
    assert_eq!(
        entry("PT_PROFILER_JOB", r#"{"user": "bob", "n": 3, "job": 48213}"#),
        r#"key_2: {"key_3": "text_3", "key_4": 3, "key_5": 0}"#
    );
    assert_eq!(
        entry(
            "distributedInfo",
            r#"{"backend": "nccl", "rank": 3, "who": "bob", "pg_config": [{"pg_name": "0", "pg_desc": "bobs tp", "ranks": [0, "..."]}, {"pg_desc": "default_pg"}]}"#
        ),
        r#"distributedInfo: {"backend": "nccl", "rank": 3, "key_6": "text_3", "pg_config": [{"pg_name": "0", "pg_desc": "word1 tp", "ranks": [0, "..."]}, {"pg_desc": "default_pg"}]}"#
    );
}
