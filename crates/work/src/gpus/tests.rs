use super::*;

fn device(name: &str, compute: (u32, u32), sms: u32, memory_bytes: u64) -> Device<'_> {
    Device {
        name,
        compute_major: Some(compute.0),
        compute_minor: Some(compute.1),
        sms: Some(sms),
        memory_bytes: Some(memory_bytes),
    }
}

fn names(recognised: &Recognised) -> Vec<&str> {
    recognised.candidates().iter().map(|gpu| gpu.name.as_str()).collect()
}

#[test]
fn every_gpu_is_found_by_its_names_and_no_other_is() {
    for gpu in all() {
        assert_eq!(named(&gpu.name), Recognised::Known(gpu), "{}", gpu.name);
        for name in &gpu.names {
            let name = name.join(" ");
            assert_eq!(
                recognise(&Device { name: &name, ..Device::default() }),
                Recognised::Known(gpu),
                "{name}"
            );
        }
    }
}

#[test]
fn peaks_are_dense_and_of_the_right_size() {
    for gpu in all() {
        let matrix = |precision| gpu.peaks.tflops(Engine::Matrix, precision);
        assert!(gpu.peaks.memory_gb_per_s.unwrap() >= 300.0, "{}", gpu.name);
        // Each step down in width at least keeps the rate; twice it (bar rounding) but from fp8 to fp4 on some.
        let steps = [
            (Precision::Tf32, Precision::Bf16),
            (Precision::Bf16, Precision::Fp8),
            (Precision::Fp8, Precision::Fp4),
        ];
        for (wide, narrow) in steps {
            if let (Some(wide), Some(narrow)) = (matrix(wide), matrix(narrow)) {
                assert!((1.9..=4.1).contains(&(narrow / wide)), "{}: {wide} {narrow}", gpu.name);
            }
        }
    }
}

#[test]
fn a_nameless_device_is_known_by_what_it_has() {
    let nameless = |name| recognise(&device(name, (9, 4), 304, 206_141_652_992));
    assert_eq!(names(&nameless("")), ["MI300X"]);
    assert_eq!(names(&nameless("AMD Radeon Graphics")), ["MI300X"]);
    assert_eq!(
        names(&nameless("AMD Instinct MI999")),
        [] as [&str; 0],
        "a name that is not in the list is another GPU"
    );
}

#[test]
fn what_cannot_be_told_apart_is_ambiguous() {
    let die = recognise(&device("AMD Radeon Graphics", (9, 0), 104, 68_702_699_520));
    assert_eq!(names(&die), ["MI210", "MI250 (one die)"]);
    assert_eq!(die.tflops(Engine::Matrix, Precision::Bf16), Some(181.0), "both can do the same");
    let a100 = recognise(&device("", (8, 0), 108, 85_000_000_000));
    assert_eq!(names(&a100), ["A100 SXM 80GB", "A100 PCIe 80GB"]);
    assert_eq!(a100.memory_gb_per_s(), None, "these do not agree");
    assert_eq!(a100.tflops(Engine::Matrix, Precision::Bf16), Some(312.0));
}

#[test]
fn a_part_of_a_gpu_is_not_the_whole() {
    assert_eq!(recognise(&device("AMD Instinct MI300X", (9, 4), 38, 206_141_652_992)), Recognised::Unknown);
    assert_eq!(recognise(&device("AMD Instinct MI300X", (9, 4), 304, 51_000_000_000)), Recognised::Unknown);
    let slice = Device { name: "NVIDIA A100-SXM4-40GB MIG 3g.20gb", ..Device::default() };
    assert_eq!(recognise(&slice), Recognised::Unknown);
}

#[test]
fn odd_devices_are_unknown() {
    assert_eq!(recognise(&Device::default()), Recognised::Unknown);
    assert_eq!(recognise(&Device { name: "Synthetic GPU", ..Device::default() }), Recognised::Unknown);
    assert_eq!(recognise(&device("", (u32::MAX, 0), 0, u64::MAX)), Recognised::Unknown);
    assert_eq!(recognise(&device("", (9, 0), 132, 0)), Recognised::Unknown);
}

#[test]
fn people_may_say_less_than_the_full_name() {
    assert_eq!(names(&named("h100 sxm")), ["H100 SXM"]);
    assert_eq!(names(&named("NVIDIA H100 80GB HBM3")), ["H100 SXM"]);
    assert_eq!(names(&named("mi300x")), ["MI300X"]);
    assert_eq!(names(&named("MI250")), ["MI250 (one die)"]);
    assert_eq!(names(&named("H100")), ["H100 SXM", "H100 PCIe", "H100 NVL"]);
    assert_eq!(named("h1000"), Recognised::Unknown);
    assert_eq!(named(""), Recognised::Unknown);
}
