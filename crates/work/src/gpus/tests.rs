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
        for name in gpu.names.iter().map(|name| name.join(" ")) {
            let whole = device(&name, gpu.compute, gpu.sms.unwrap_or(1), gpu.memory_bytes);
            assert_eq!(recognise(&whole), Recognised::Known(gpu), "{name}");
            let others = recognise(&Device { name: &name, ..Device::default() });
            let shared = all().iter().filter(|other| other.names.iter().any(|known| known.join(" ") == name));
            assert_eq!(others.candidates(), shared.collect::<Vec<_>>(), "{name}");
        }
    }
}

#[test]
fn every_row_names_a_paper_of_its_maker() {
    for gpu in all() {
        let papers = ["data sheet", "white paper", "specifications", "product brief", "technical brief"];
        let maker = gpu.source.starts_with("NVIDIA ") || gpu.source.starts_with("AMD ");
        let of_a_year = gpu.source.contains("(20");
        let is_paper = papers.iter().any(|paper| gpu.source.contains(paper));
        assert!(maker && of_a_year && is_paper, "{}: {}", gpu.name, gpu.source);
    }
}

/// As Kineto writes them in `deviceProperties`.
#[test]
fn near_names_are_not_confused() {
    const GIB: u64 = 1 << 30;
    for (name, compute, sms, gib, expected) in [
        ("NVIDIA GB10", (12, 1), 48, 119, "GB10"),
        ("NVIDIA GB300", (10, 3), 152, 277, "GB300"),
        ("NVIDIA A10", (8, 6), 72, 22, "A10"),
        ("NVIDIA A10G", (8, 6), 80, 22, "A10G"),
        ("NVIDIA A100-SXM4-80GB", (8, 0), 108, 79, "A100 SXM 80GB"),
        ("NVIDIA A800-SXM4-80GB", (8, 0), 108, 79, "A800 SXM 80GB"),
        ("NVIDIA A800 80GB PCIe", (8, 0), 108, 79, "A800 PCIe 80GB"),
        ("NVIDIA A800 40GB Active", (8, 0), 108, 39, "A800 40GB Active"),
        ("NVIDIA H800", (9, 0), 132, 79, "H800 SXM"),
        ("NVIDIA H800 PCIe", (9, 0), 114, 79, "H800 PCIe"),
        ("NVIDIA H20", (9, 0), 78, 95, "H20"),
        ("NVIDIA H20-3e", (9, 0), 78, 139, "H20-3e"),
        ("NVIDIA H200", (9, 0), 132, 139, "H200 SXM"),
        ("NVIDIA L4", (8, 9), 58, 22, "L4"),
        ("NVIDIA L40", (8, 9), 142, 44, "L40"),
        ("NVIDIA L40S", (8, 9), 142, 44, "L40S"),
        ("NVIDIA L20", (8, 9), 92, 44, "L20"),
        ("NVIDIA RTX A6000", (8, 6), 84, 47, "RTX A6000"),
        ("NVIDIA RTX 6000 Ada Generation", (8, 9), 142, 47, "RTX 6000 Ada"),
        ("Quadro RTX 6000", (7, 5), 72, 23, "Quadro RTX 6000"),
        ("NVIDIA TITAN RTX", (7, 5), 72, 23, "TITAN RTX"),
        ("NVIDIA GeForce RTX 3080", (8, 6), 68, 9, "RTX 3080"),
        ("NVIDIA GeForce RTX 3080 Ti", (8, 6), 80, 11, "RTX 3080 Ti"),
        ("NVIDIA GeForce RTX 3090", (8, 6), 82, 23, "RTX 3090"),
        ("NVIDIA GeForce RTX 3090 Ti", (8, 6), 84, 23, "RTX 3090 Ti"),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", (12, 0), 188, 94, "RTX PRO 6000 Max-Q"),
        ("Tesla T4", (7, 5), 40, 15, "T4"),
        ("AMD Radeon PRO W7900", (11, 0), 48, 47, "Radeon PRO W7900"),
        ("AMD Radeon RX 9070", (12, 0), 28, 15, "RX 9070"),
        ("AMD Radeon RX 9070 XT", (12, 0), 32, 15, "RX 9070 XT"),
        ("AMD Instinct MI60 / MI50", (9, 0), 60, 15, "MI50"),
        ("AMD Instinct MI60 / MI50", (9, 0), 64, 31, "MI60"),
        ("AMD Instinct MI308X", (9, 4), 80, 191, "MI308X"),
    ] {
        assert_eq!(names(&recognise(&device(name, compute, sms, gib * GIB))), [expected], "{name}");
    }
    for other in ["NVIDIA L2", "NVIDIA A1", "NVIDIA H2", "NVIDIA GeForce RTX 4080 Laptop GPU", "NVIDIA GB1"] {
        assert_eq!(recognise(&Device { name: other, ..Device::default() }), Recognised::Unknown, "{other}");
    }
}

#[test]
fn peaks_are_dense_and_of_the_right_size() {
    for gpu in all() {
        let matrix = |precision| gpu.peaks.tflops(Engine::Matrix, precision);
        assert!(gpu.peaks.memory_gb_per_s.unwrap() >= 250.0, "{}", gpu.name);
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
fn links_are_those_of_one_direction() {
    let link = |name: &str, group| named(name).link().map(|link| (link.name.as_str(), link.gb_per_s(group)));
    assert_eq!(link("H100 SXM", 8), Some(("NVLink", 450.0)));
    assert_eq!(link("H100 SXM", 2), Some(("NVLink", 150.0)), "in machines of four, which have no switch");
    assert_eq!(link("B200", 2), Some(("NVLink", 900.0)), "all go through switches");
    assert_eq!(link("MI300X", 2), Some(("Infinity Fabric", 64.0)));
    assert_eq!(link("L4", 8), Some(("PCIe", 32.0)));
    assert_eq!(link("GB10", 2), None);
    assert_eq!(link("H100", 8), None, "these do not agree");
    for gpu in all() {
        // Of a GPU with its own links, memory is four times as fast and more.
        let Some(link) = &gpu.link else { continue };
        assert!(gpu.peaks.memory_gb_per_s.unwrap() >= 4.0 * link.gb_per_s(8), "{}", gpu.name);
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
    assert_eq!(names(&a100), ["A100 SXM 80GB", "A100 PCIe 80GB", "A800 SXM 80GB", "A800 PCIe 80GB"]);
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
