//! What is slow in real traces and why, held to numbers that were counted in the raw files: where a model is involved,
//! within the bounds that those numbers leave.

use std::ops::RangeInclusive;

use gpuscope_testkit::text::{TraceText, trace};
use serde_json::Value;

use crate::corpus::{corpus, data};
use crate::support::Folder;

const MS: i64 = 1_000_000;

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("a number: {value}"))
}

fn percent(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number: {value}"))
}

#[track_caller]
fn within(value: &Value, bounds: RangeInclusive<i64>) {
    assert!(bounds.contains(&number(value)), "{value} is not in {bounds:?}");
}

#[track_caller]
fn percent_within(value: &Value, bounds: RangeInclusive<f64>) {
    assert!(bounds.contains(&percent(value)), "{value} % is not in {bounds:?}");
}

fn verdict(analyze: &Value) -> &str {
    analyze["verdict"].as_str().expect("a sentence")
}

fn ids(analyze: &Value) -> Vec<&str> {
    analyze["findings"].as_array().expect("a list").iter().filter_map(|found| found["id"].as_str()).collect()
}

#[track_caller]
fn found<'a>(analyze: &'a Value, id: &str) -> &'a Value {
    let findings = analyze["findings"].as_array().expect("a list");
    let found = findings.iter().find(|found| found["id"] == id);
    found.unwrap_or_else(|| panic!("{id} is not among {:?}", ids(analyze)))
}

/// 97.6 % busy, and 1,022 launches ahead: the host needs 34.5 to 38.2 ms of a step of 95.6 ms, and stands in launch calls
/// the rest of its time.
#[test]
fn a_full_queue_holds_the_host_up_and_not_the_gpu() {
    let Some(corpus) = corpus() else { return };
    let name = "ns_resolution_rank-0.json.gz";
    // All that is on the GPU, and nothing of the host.
    let halved = data(&corpus, name, &["whatif", "--scale", "^(void|volta|cudnn|cask|Memcpy|Memset)=0.5"]);
    let matched = &halved["matched"][0];
    assert_eq!((number(&matched["gpu_events"]), number(&matched["host_ns"])), (6095, 0));
    assert_eq!(number(&matched["gpu_ns"]), 472_454_441);
    percent_within(&halved["saved_pct"], 46.0..=50.0);

    let queue = data(&corpus, name, &["queue"]);
    let stream = &queue["streams"][0];
    assert_eq!((number(&stream["max"]), number(&stream["stream"])), (1022, 7));
    within(&stream["depth"], 1021..=1022);
    // From the time at 1,021 and more to that at 990 and more.
    within(&stream["full_ns"], 266 * MS..=331 * MS);
    percent_within(&stream["full_pct"], 55.0..=69.0);
    // From what exceeds three times the median of a call by more than 10 µs to all that exceeds the median.
    within(&stream["blocked_ns"], 211 * MS..=237 * MS);
}

/// A V100: all convolutions and matrix products run in fp32, and no kernel uses the tensor cores.
#[test]
fn a_busy_gpu_that_computes_in_fp32_has_an_issue() {
    let Some(corpus) = corpus() else { return };
    let analyze = data(&corpus, "ns_resolution_rank-0.json.gz", &["analyze"]);
    assert!(!verdict(&analyze).contains("no issue exceeds"), "{}", verdict(&analyze));
    let finding = found(&analyze, "fp32_convolutions");
    let share = 100.0 * percent(&finding["claim"]["gpu_ns"]) / 472_454_441.0;
    assert!((61.0..=64.0).contains(&share), "{share} % of the GPU's time");
    assert_eq!(analyze["findings"][0]["id"], "fp32_convolutions");
}

/// All-reduces of 8.5 to 9.2 ms run alone, and the next work starts 15 to 19 µs after each.
#[test]
fn communication_that_nothing_overlaps_is_on_the_path() {
    let Some(corpus) = corpus() else { return };
    let name = "mi300_resnet_act_checkpoint.json.gz";
    let breakdown = data(&corpus, name, &["breakdown"]);
    let rank = &breakdown["ranks"][0];
    assert_eq!(number(&rank["step_time_ns"]), 18_768_629);
    for step in rank["steps"].as_array().unwrap() {
        within(&step["exposed_comm_ns"], 11_360_000..=11_900_000);
    }
    let path = data(&corpus, name, &["critical-path"]);
    // At least what nothing hides, at most all there is in a step.
    within(&path["bound_by"]["gpu_comm_ns"], 11_360_000..=16_110_000);
    assert!(number(&path["bound_by"]["kernel_kernel_ns"]) * 100 < number(&path["path_ns"]), "{path}");

    // Without it, a step takes what the host needs: 15.9 to 16.8 ms, none of it waiting.
    let without = data(&corpus, name, &["whatif", "--scale", "nccl.*=0"]);
    assert_eq!(number(&without["matched"][0]["gpu_events"]), 17);
    within(&without["predicted_ns"], 15_700_000..=16_800_000);
}

#[test]
fn less_work_never_takes_longer() {
    let Some(corpus) = corpus() else { return };
    let without = data(&corpus, "trace_diff_control.json.gz", &["whatif", "--scale", "Memcpy HtoD=0"]);
    let matched = &without["matched"][0];
    assert_eq!((number(&matched["gpu_events"]), number(&matched["gpu_ns"])), (150, 50_656_000));
    // In six steps.
    within(&without["saved_ns"], 0..=50_656_000 / 6);
}

/// 2,101 kernels end before the next launch of their thread begins, and 1,994 of them compute, for less than 20 µs, among
/// launches that are at most 200 µs apart.
#[test]
fn kernels_that_are_over_before_the_next_launch_are_counted_to_the_letter() {
    let Some(corpus) = corpus() else { return };
    let analyze = data(&corpus, "trace_diff_control.json.gz", &["analyze"]);
    let finding = found(&analyze, "small_kernels");
    within(&finding["claim"]["kernels"], 1_990..=2_101);
    let said = format!("{} kernels finish before", number(&finding["claim"]["kernels"]));
    assert!(finding["title"].as_str().unwrap().starts_with(&said), "{finding}");
    // 15 to 24 of 1,707, and 12 to 17 of 562, are no habit of a program.
    for name in ["h100_qwen.json.gz", "mi210_gpu_only.json.gz"] {
        assert!(!ids(&data(&corpus, name, &["analyze"])).contains(&"small_kernels"), "{name}");
    }
}

/// Elementwise kernels take 54 % of the GPU's time.
#[test]
fn chains_of_elementwise_kernels_come_first_where_they_take_most() {
    let Some(corpus) = corpus() else { return };
    let name = "h100_qwen.json.gz";
    let faster = data(&corpus, name, &["whatif", "--scale", "elementwise=0.33"]);
    percent_within(&faster["saved_pct"], 14.0..=15.0);
    let analyze = data(&corpus, name, &["analyze"]);
    assert_eq!(analyze["findings"][0]["id"], "elementwise_chains");
    // With their launches gone too it is more, but not more than all that they take.
    let finding = found(&analyze, "elementwise_chains");
    percent_within(&finding["gain_pct"], percent(&faster["saved_pct"])..=54.4);
    assert!(percent(&analyze["joint_gain_pct"]) >= percent(&finding["gain_pct"]));
}

/// The host stands in a copy of 94 ms, or of 493 ms, until the stream is done with what was launched before.
#[test]
fn what_runs_before_a_blocking_copy_saves_its_own_time() {
    let Some(corpus) = corpus() else { return };
    let cases = [
        ("mi300_timesformer.json.gz", "SoftMax=0", 12, 41_722_677),
        ("h100_timesformer.json.gz", "SoftMax=0", 12, 68_688_625),
        ("sglang_prefilldecode.json.gz", "Cijk_.*MT128x256x32.*=0", 36, 243_643_021),
    ];
    for (name, scale, events, own) in cases {
        let without = data(&corpus, name, &["whatif", "--scale", scale]);
        let matched = &without["matched"][0];
        assert_eq!((number(&matched["gpu_events"]), number(&matched["gpu_ns"])), (events, own), "{name}");
        within(&without["saved_ns"], own * 99 / 100..=own);
    }
}

/// 30 are single values of 8 bytes, 30 below 8 kB, 107 µs in all: pinning helps none of them.
#[test]
fn small_copies_are_no_reason_to_pin_memory() {
    let Some(corpus) = corpus() else { return };
    let name = "trace_diff_control.json.gz";
    let bandwidth = data(&corpus, name, &["bandwidth"]);
    let copies = bandwidth["copies"].as_array().unwrap();
    let to_host = copies.iter().find(|row| row["kind"] == "Memcpy DtoH").unwrap();
    assert_eq!((number(&to_host["count"]), number(&to_host["sum_ns"])), (60, 107_000));
    let analyze = data(&corpus, name, &["analyze"]);
    let said = analyze["findings"].to_string();
    assert!(!said.contains("ageable") && !said.contains("pin_memory"), "{:?}", ids(&analyze));
}

#[test]
fn the_first_calls_of_a_program_are_start_up() {
    let Some(corpus) = corpus() else { return };
    let analyze = data(&corpus, "cp_alexnet.json.gz", &["analyze"]);
    assert_eq!(ids(&analyze), ["start_up"]);
    let finding = found(&analyze, "start_up");
    let names = finding["evidence"]["names"].as_array().unwrap();
    assert_eq!(names[..2], ["cudaDeviceGetStreamPriorityRange", "aten::cudnn_convolution"]);
    // The first call 29.9 s, the first convolution 10.8 s, with an allocation of 0.8 s before.
    within(&finding["claim"]["time_ns"], 40_768 * MS..=43_425 * MS);
    // From the first event of the only thread that launches to the last; the profiler's own span is longer.
    assert_eq!(number(&finding["claim"]["recorded_ns"]), 43_425_365_000);
    assert!(
        verdict(&analyze).starts_with("Start-up takes 41.6 s of the 43.4 s recorded"),
        "{}",
        verdict(&analyze)
    );
}

/// Its three steps take 222, 220 and 225 ms, and are alike.
#[test]
fn a_step_alone_is_explained_as_all_of_them_are() {
    let Some(corpus) = corpus() else { return };
    let name = "nccl_a100.json.gz";
    let all = data(&corpus, name, &["analyze"]);
    let joint = percent(&all["joint_gain_pct"]);
    let first = |analyze: &Value| analyze["findings"][0].clone();
    for step in ["4", "5", "6"] {
        let one = data(&corpus, name, &["analyze", "--step", step]);
        assert_eq!(first(&one)["id"], first(&all)["id"], "step {step}");
        let gain = percent(&first(&all)["gain_pct"]);
        percent_within(&first(&one)["gain_pct"], gain - 1.0..=gain + 1.0);
        percent_within(&one["joint_gain_pct"], joint - 3.0..=joint + 3.0);
        let missing: Vec<&str> = ids(&all).into_iter().filter(|id| !ids(&one).contains(id)).collect();
        assert_eq!(missing, [] as [&str; 0], "step {step}");
    }
}

/// The first of two annotated steps lasts 9,288,291 ns, and the other has no GPU work; of the second trace's three, which
/// are inferred, the last two take 2,733,038 and 157,715 ns, and the longer has a window of 2,734,281 ns.
#[test]
fn there_is_one_step_time_and_one_default_step() {
    let Some(corpus) = corpus() else { return };
    for (name, step_time, default, whole) in [
        ("amd_mi250.json.gz", 9_288_291, "ProfilerStep#1", 9_288_291),
        (
            "mi300_normalization.json.gz",
            i64::midpoint(2_733_038, 157_715),
            "BatchNorm affine=False",
            2_734_281,
        ),
    ] {
        let analyze = data(&corpus, name, &["analyze"]);
        let whatif = data(&corpus, name, &["whatif", "--scale", ".*=1"]);
        let breakdown = data(&corpus, name, &["breakdown"]);
        let path = data(&corpus, name, &["critical-path"]);
        let said = [
            &analyze["step"]["median_ns"],
            &analyze["breakdown"]["ranks"][0]["step_time_ns"],
            &whatif["step_time_ns"],
            &whatif["predicted_ns"],
            &breakdown["ranks"][0]["step_time_ns"],
        ];
        assert_eq!(said.map(number), [step_time; 5], "{name}");
        for path in [&path, &analyze["critical_path"]] {
            assert_eq!((&path["window"], number(&path["makespan_ns"])), (&Value::from(default), whole));
            assert_eq!((number(&path["step_time_ns"]), number(&path["step"])), (step_time, 1));
        }
    }
}

/// All pinned: the calls return 3 to 69 µs before their copies end. Other calls launch kernels that copy.
#[test]
fn calls_that_return_before_their_copies_end_do_not_wait_for_them() {
    let Some(corpus) = corpus() else { return };
    let analyze = data(&corpus, "synth_rules.json", &["analyze"]);
    let waiting = ["host_blocking_copy", "host_waits"];
    assert!(!ids(&analyze).iter().any(|id| waiting.contains(id)), "{:?}", ids(&analyze));
}

/// The second of two steps is an annotation of 49 µs without GPU work; operators take most of the first's 9.3 ms.
#[test]
fn a_step_without_gpu_work_hides_nothing() {
    let Some(corpus) = corpus() else { return };
    let name = "amd_mi250.json.gz";
    let faster = data(&corpus, name, &["whatif", "--scale", "host:aten=0.5"]);
    // But for a launch of 6.6 ms that loads code, which may or may not be halved.
    let host = number(&faster["matched"][0]["host_ns"]);
    within(&faster["saved_ns"], (host - 6_626_000) / 2..=host / 2);
    // 267 µs before the first work: 2.9 % of the step.
    assert_eq!(
        number(&found(&data(&corpus, name, &["analyze"]), "host_before_first_launch")["claim"]["lead_ns"]),
        266_767
    );
}

/// `normalize` takes 106 of the 218 ms before the first GPU work.
#[test]
fn preprocessing_on_the_host_comes_first_and_is_named() {
    let Some(corpus) = corpus() else { return };
    let analyze = data(&corpus, "h100_timesformer.json.gz", &["analyze"]);
    let first = &analyze["findings"][0];
    assert_eq!(first["id"], "host_before_first_launch");
    assert_eq!(number(&first["claim"]["lead_ns"]), 218_495_762 - 375_418);
    within(&first["gain_ns"], 200 * MS..=number(&first["claim"]["lead_ns"]));
    let advice = first["advice"].as_str().unwrap();
    assert!(!advice.contains("CUDA graph") && !advice.contains("torch.compile"), "{advice}");
    assert_eq!(first["evidence"]["names"][0], "transformers/image_transforms.py(390): normalize");
    assert!(verdict(&analyze).contains("normalize before the first launch"), "{}", verdict(&analyze));
}

/// Both have one step, and it is guessed; in the second, earlier work still runs for 493 ms of it.
#[test]
fn nothing_is_said_of_what_comes_first_where_the_beginning_is_a_guess() {
    let Some(corpus) = corpus() else { return };
    for name in ["b200_eager.json.gz", "sglang_prefilldecode.json.gz"] {
        let analyze = data(&corpus, name, &["analyze"]);
        assert!(!ids(&analyze).contains(&"host_before_first_launch"), "{name}: {:?}", ids(&analyze));
    }
}

/// 24 times a softmax between two batched products: these alone take 113.8 of the GPU's 158.4 ms.
#[test]
fn attention_in_pieces_is_found() {
    let Some(corpus) = corpus() else { return };
    let name = "h100_timesformer.json.gz";
    let analyze = data(&corpus, name, &["analyze"]);
    let finding = found(&analyze, "eager_attention");
    assert_eq!(number(&finding["claim"]["attentions"]), 24);
    within(&finding["claim"]["gpu_ns"], 113_779_650..=158_433_174);
    // At a fifth of their time, three quarters and more of them; all of it at most.
    within(&finding["gain_ns"], 113_779_650 * 3 / 4..=number(&finding["claim"]["gpu_ns"]));
}

/// Rank 3 comes last to all 15 all-reduces; by their durations alone, each of the others waits 44.7 ms for it.
#[test]
fn a_rank_that_the_others_wait_for_is_listed() {
    let Some(corpus) = corpus() else { return };
    let analyze = data(&corpus, "../formats/traces/ranks/mi300x_4ranks_merged.json.gz", &["analyze"]);
    let finding = found(&analyze, "straggler");
    let claim = ["rank", "last", "collectives", "others_wait_ns"].map(|name| number(&finding["claim"][name]));
    assert_eq!(claim, [3, 15, 15, 44_716_374]);
    assert_eq!(finding["evidence"]["ranks"], serde_json::json!([3]));
    let text = finding["evidence"]["text"].as_str().unwrap();
    assert!(text.contains("the others spend 33 % of their time waiting"), "{text}");
    // The hosts of ranks 1 and 2 work for as long as that of rank 3 does, and wait for 1 ms of a step.
    percent_within(&finding["gain_pct"], 0.0..=3.0);
}

fn analyze(trace: &TraceText) -> Value {
    let folder = Folder::new();
    folder.write("a.json", trace.to_json());
    folder.run(&["analyze", "@a.json", "--json"]).json()["data"].take()
}

/// Three steps alike: operators of 100 µs, each with a kernel of 50 µs.
#[test]
fn one_of_several_steps_alike_suffers_from_what_all_do() {
    let us = 1000;
    let mut text = trace();
    for step in 1..=3 {
        let start = step * 4000 * us;
        text = text.step(step, start..start + 4000 * us);
        for i in 0..40 {
            let at = start + i * 100 * us;
            text = text.cpu_op("aten::mm", at..at + 99 * us);
            text = text.kernel("gemm", at + 20 * us..at + 70 * us).launched_at(at + 10 * us..at + 15 * us);
        }
    }
    let folder = Folder::new();
    folder.write("a.json", text.to_json());
    let all = folder.run(&["analyze", "@a.json", "--json"]).json()["data"].take();
    let one = folder.run(&["analyze", "@a.json", "--step", "2", "--json"]).json()["data"].take();
    assert_eq!((ids(&all), ids(&one)), (vec!["host_operators"], vec!["host_operators"]));
    let gain = percent(&found(&all, "host_operators")["gain_pct"]);
    percent_within(&found(&one, "host_operators")["gain_pct"], gain - 2.0..=gain + 2.0);
}

/// Steps of 4 ms in which operators of 100 µs launch kernels of 50 µs; before them one that takes 90 ms longer.
fn after_a_long_first_step(first: bool) -> TraceText {
    let us = 1000;
    let mut text = trace();
    for step in if first { 0..=4 } else { 1..=4 } {
        let start = 100_000 * us + step * 4000 * us;
        let begin = if step == 0 { start - 90_000 * us } else { start };
        text = text.step(step, begin..start + 4000 * us);
        if step == 0 {
            text = text.cpu_op("aten::cudnn_convolution", begin + 10 * us..start - 10 * us);
        }
        for i in 0..40 {
            let at = start + i * 100 * us;
            text = text.cpu_op("aten::mm", at..at + 99 * us);
            text = text.kernel("gemm", at + 20 * us..at + 70 * us).launched_at(at + 10 * us..at + 15 * us);
        }
    }
    text
}

#[test]
fn a_first_step_unlike_the_others_is_set_apart() {
    let folder = Folder::new();
    folder.write("a.json", after_a_long_first_step(true).to_json());
    let answer = folder.run(&["analyze", "@a.json", "--json"]).json();
    let (with, without) = (&answer["data"], analyze(&after_a_long_first_step(false)));
    assert_eq!((ids(with), ids(&without)), (vec!["host_operators", "first_step"], vec!["host_operators"]));
    let first = found(with, "first_step");
    assert_eq!(first["claim"], serde_json::json!({"steps": 1, "longest_ns": 94 * MS, "others_ns": 4 * MS}));
    assert_eq!(first["title"], "the first step takes 94.0 ms, 23.5 times as long as the others");
    assert!(first["command"].as_str().unwrap().contains("critical-path --step 0"), "{first}");
    // What is explained are the others, as if they were alone.
    assert_eq!(with["step"]["median_ns"], without["step"]["median_ns"]);
    percent_within(&with["step"]["idle_pct"], 49.0..=51.0);
    let (all, steady) = (found(with, "host_operators"), found(&without, "host_operators"));
    assert_eq!(all["claim"]["gaps"], steady["claim"]["gaps"]);
    let gain = percent(&steady["gain_pct"]);
    percent_within(&all["gain_pct"], gain - 1.0..=gain + 1.0);
    assert!(verdict(with).ends_with("operator overhead on the host (after warm-up)."), "{}", verdict(with));
    let codes: Vec<&str> =
        answer["quality"].as_array().unwrap().iter().filter_map(|q| q["code"].as_str()).collect();
    assert!(codes.contains(&"steps_set_apart"), "{codes:?}");
    let halved =
        folder.run(&["whatif", "@a.json", "--scale", "aten::mm=0.5", "--json"]).json()["data"].take();
    percent_within(&halved["saved_pct"], 20.0..=50.0);

    // Asked for by its number it is explained itself.
    let alone = folder.run(&["analyze", "@a.json", "--step", "0", "--json"]).json()["data"].take();
    assert!(!ids(&alone).contains(&"first_step"), "{:?}", ids(&alone));
    assert_eq!(number(&alone["step"]["median_ns"]), 94 * MS);
}

/// The first of three guessed steps takes 677 ms, in which calls load code; the others 2,734 and 153 µs.
#[test]
fn what_comes_after_a_first_step_that_loads_code_is_explained() {
    let Some(corpus) = corpus() else { return };
    let analyze = data(&corpus, "mi300_normalization.json.gz", &["analyze"]);
    let first = found(&analyze, "first_step");
    assert_eq!(number(&first["claim"]["longest_ns"]), 676_881_545);
    assert!(number(&analyze["joint_gain_ns"]) > MS / 2, "{analyze}");
    percent_within(&analyze["step"]["idle_pct"], 85.0..=90.0);
}

/// Python all along, but the GPU's first work comes 0.45 ms into a step of 4 ms.
#[test]
fn what_comes_before_the_first_launch_gains_no_more_than_it_lasts() {
    let us = 1000;
    let mut text = trace().step(1, 0..4000 * us).python("train.py(10): step", 0..4000 * us, 1, None);
    for i in 0..10 {
        let at = (450 + i * 350) * us;
        text = text.kernel("gemm", at..at + 100 * us).launched_at(at - 20 * us..at - 10 * us);
    }
    let analyze = analyze(&text);
    let lead = found(&analyze, "host_before_first_launch");
    assert_eq!(number(&lead["claim"]["lead_ns"]), 450 * us);
    within(&lead["gain_ns"], 400 * us..=450 * us);
}

/// Four steps of 20 ms on the GPU, launched ahead of it: computation, 4 ms of one group's communication that nothing
/// hides, computation, 2 ms of another's, computation.
fn of_two_groups(first: &str, second: &str) -> TraceText {
    let mut text = trace().rank(0, 2);
    for step in 0..4 {
        let (called, at) = (step * MS, step * 20 * MS);
        text = text.step(step, called..called + MS);
        let parts = [("", 1, 8), (first, 8, 12), ("", 12, 16), (second, 16, 18), ("", 18, 21)];
        for (i, (group, from, to)) in (1..).zip(parts) {
            let name = if group.is_empty() { "gemm" } else { "ncclDevKernel_AllReduce_Sum_f32_RING_LL" };
            let call = called + i * 10_000;
            text = text.kernel(name, at + from * MS..at + to * MS).launched_at(call..call + 5_000);
            if !group.is_empty() {
                text = text.on(0, 20).text_arg("Collective name", "allreduce");
                text =
                    text.text_arg("Process Group Description", group).text_arg("Process Group Name", group);
            }
        }
    }
    text
}

#[test]
fn groups_are_told_apart() {
    for groups in [["tp", "dp"], ["mesh_tp", "mesh_dp"]] {
        let analyze = analyze(&of_two_groups(groups[0], groups[1]));
        let findings = analyze["findings"].as_array().unwrap().iter();
        let exposed: Vec<&Value> = findings.filter(|found| found["id"] == "exposed_communication").collect();
        let titles =
            groups.map(|group| format!("communication of group {group} is not hidden behind computation"));
        assert_eq!(exposed.iter().map(|found| &found["title"]).collect::<Vec<_>>(), [&titles[0], &titles[1]]);
        within(&exposed[0]["gain_ns"], 3_900_000..=4_000_000);
        within(&exposed[1]["gain_ns"], 1_900_000..=2_000_000);
    }
}

#[test]
fn a_verdict_is_short_on_every_trace() {
    let Some(corpus) = corpus() else { return };
    let traces = std::fs::read_dir(corpus.join("traces")).unwrap().map(|entry| entry.unwrap().path());
    let mut seen = 0;
    for trace in traces.filter(|path| path.extension().is_some_and(|extension| extension == "gz")) {
        let name = trace.file_name().unwrap().to_string_lossy().into_owned();
        let ran = Folder::new().run(&["analyze", &trace.to_string_lossy(), "--json"]);
        // Some of them hold something else than events.
        if ran.exit != 0 {
            continue;
        }
        let answer = ran.json();
        let verdict = answer["data"]["verdict"].as_str().unwrap();
        let words = verdict.split(' ').filter(|word| word.contains(char::is_alphanumeric)).count();
        assert!(words <= 25, "{name}: {verdict}");
        seen += 1;
    }
    assert!(seen > 15, "{seen}");
}
