//! Every sort of chart on one page, to look at after a change to the renderer: `cargo run --example gallery > x.html`.
#![allow(clippy::print_stdout, reason = "the page is what this prints")]

use gpuscope_figure::{Axis, Band, Data, Figure, FiveNumbers, Hue, Panel, Series, Slice, Unit};
use gpuscope_report::chart::svg::{self, Dress};

fn main() {
    println!("<!doctype html><meta charset=utf-8><body style='max-width:1000px;margin:auto'>");
    for figure in figures() {
        println!("{}", svg::draw(&figure, &Dress::FILE));
    }
}

#[expect(clippy::too_many_lines, reason = "a list of examples")]
fn figures() -> Vec<Figure> {
    let kernels = [
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)",
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "Memcpy HtoD (Pinned -> Device)",
    ];
    let values = [8.2e6, 3.1e6, 2.9e6, 0.2e6];
    let time = || Axis::new("time", Unit::Ns);
    let some = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
    let bars = Figure::new(
        "bars",
        "Which kernels take the time?",
        Panel::new(time(), Axis::categories("", kernels)).with(Series::bars(
            "total",
            Hue::Compute,
            some(&values),
        )),
    );
    let ranks: Vec<String> = (0..8).map(|rank| format!("rank {rank}")).collect();
    let stacked = Figure::new(
        "stacked",
        "Where GPU time went",
        Panel::new(Axis::categories("", ranks.clone()), Axis::new("share", Unit::Percent))
            .stacked()
            .with(Series::bars(
                "computation",
                Hue::Compute,
                some(&[70.0, 71.0, 69.0, 70.0, 70.5, 82.0, 70.0, 70.0]),
            ))
            .with(Series::bars(
                "communication",
                Hue::Communication,
                some(&[28.0, 27.0, 29.0, 28.0, 27.5, 16.0, 28.0, 28.0]),
            ))
            .with(Series::bars("idle", Hue::Idle, some(&[2.0; 8]))),
    );
    let whiskers = Figure::new(
        "whiskers",
        "Mean duration across ranks",
        Panel::new(Axis::categories("kernel", kernels), time()).with(
            Series::bars("mean", Hue::Compute, some(&values))
                .reaching(values.iter().map(|value| (value * 0.8, value * 1.3)).collect()),
        ),
    );
    let layers = ["embed", "h.0.attn", "h.0.mlp", "h.1.attn", "h.1.mlp", "head"];
    let boxes = |scale: f64| {
        let of = |i: usize| FiveNumbers::of((0..9).map(|k| scale * (1e5 + 3e4 * (i * k) as f64)).collect());
        Data::Boxes((0..layers.len()).map(of).collect())
    };
    let box_plot = Figure::new(
        "boxes",
        "How long layers take",
        Panel::new(Axis::categories("layer", layers), time())
            .with(Series::new("forward", Hue::Compute, boxes(1.0)))
            .with(Series::new("backward", Hue::Host, boxes(2.1))),
    );
    let xs: Vec<f64> = (0..5000).map(|i| f64::from(i) * 2e5).collect();
    let ys: Vec<f64> = xs.iter().map(|x| (x / 6e7).sin().abs() * 4e9 + 1e9).collect();
    let lanes = Figure::new(
        "copies",
        "Copies over time",
        Panel::new(time().fitted(), Axis::new("in flight", Unit::Bytes))
            .titled("Bytes in flight")
            .with(Series::steps("host to device", Hue::Copy, xs.clone(), ys.clone(), true))
            .band(Band { name: "step 3".into(), from: 2e8, to: 5e8, hue: Hue::Idle }),
    )
    .below(
        Panel::new(time().fitted(), Axis::categories("", ["forward", "backward"])).titled("Passes").with(
            Series::new(
                "passes",
                Hue::Compute,
                Data::Stretches { lanes: vec![0, 1, 0], from: vec![0.0, 3e8, 6e8], to: vec![3e8, 6e8, 9e8] },
            ),
        ),
    );
    let roof = Figure::new(
        "roofline",
        "How far from the roof?",
        Panel::new(
            Axis::new("FLOPs per byte", Unit::Ratio).logarithmic(),
            Axis::new("TFLOP/s", Unit::Ratio).logarithmic(),
        )
        .with(Series::line("roof", Hue::Idle, vec![0.1, 300.0, 10_000.0], vec![0.33, 989.0, 989.0]))
        .with(Series::new(
            "operators",
            Hue::Compute,
            Data::Points {
                x: vec![0.25, 60.0, 800.0],
                y: vec![0.5, 120.0, 610.0],
                sizes: vec![1.0, 4.0, 9.0],
            },
        )),
    );
    let heat = Figure::new(
        "heat",
        "Which rank is slow in which step?",
        Panel::new(Axis::categories("step", (0..20).map(|s| s.to_string())), Axis::categories("rank", ranks))
            .with(Series::new(
                "period",
                Hue::Critical,
                Data::Cells {
                    values: (0..160).map(|i| (i != 77).then_some(f64::from(i % 13) * 1e6)).collect(),
                    unit: Unit::Ns,
                },
            )),
    );
    let pie = Figure::new(
        "pie",
        "Kinds of kernels",
        Panel::pie(
            vec![
                Slice { name: "COMPUTATION".into(), value: 8.1e9, hue: Hue::Compute },
                Slice { name: "COMMUNICATION".into(), value: 2.7e9, hue: Hue::Communication },
                Slice { name: "COMPUTATION overlapping COMMUNICATION".into(), value: 0.9e9, hue: Hue::Host },
            ],
            Unit::Ns,
        ),
    );
    let fall = Figure::new(
        "waterfall",
        "From A to B",
        Panel::new(Axis::categories("", ["A", "gemm", "copy", "idle", "B"]), time())
            .with(Series::bars("run", Hue::Compute, vec![Some(9e6), None, None, None, Some(7.5e6)]))
            .with(
                Series::bars("change", Hue::Critical, vec![None, Some(-2e6), Some(1e6), Some(-0.5e6), None])
                    .standing_on(vec![0.0, 9e6, 7e6, 8e6, 0.0]),
            ),
    );
    vec![bars, stacked, whiskers, box_plot, lanes, roof, heat, pie, fall]
}
