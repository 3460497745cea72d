use gpuscope_figure::{Data, FiveNumbers, Hue, Series, Slice, Unit};

use super::*;

#[test]
fn values_are_in_the_unit_of_their_axis() {
    let panel = Panel::new(Axis::new("time", Unit::Ns), Axis::categories("kernel", ["gemm<float>", "copy"]))
        .with(Series::bars("total", Hue::Compute, vec![Some(2_500_000.0), None]).reaching(vec![(2e6, 3e6)]));
    let json = figure(&Figure::new("kernels", "Kernels", panel));
    let bars = &json["data"][0];
    assert_eq!((&bars["x"], &bars["y"]), (&json!([2.5, null]), &json!([0, 1])));
    assert_eq!(bars["error_x"]["array"], json!([0.5]));
    assert_eq!(json["layout"]["xaxis"]["title"]["text"], "time (ms)");
    assert_eq!(
        json["layout"]["yaxis"]["ticktext"],
        json!(["gemm&lt;float&gt;", "copy"]),
        "no HTML from names"
    );
    assert_eq!(bars["hovertext"][0], "gemm&lt;float&gt;<br>2.500 ms");
}

#[test]
fn panels_below_one_another_zoom_together() {
    let panel = |name: &str| {
        let line = Series::steps(name, Hue::Copy, vec![0.0, 5e9], vec![1.0, 2.0], true);
        Panel::new(Axis::new("time", Unit::Ns).fitted(), Axis::new("bytes", Unit::Bytes))
            .with(line)
            .titled(name)
    };
    let json = figure(&Figure::new("copies", "Copies", panel("up")).below(panel("down")));
    assert_eq!(json["layout"]["xaxis2"]["matches"], "x");
    assert_eq!(json["data"][1]["yaxis"], "y2");
    assert_eq!(json["data"][0]["line"]["shape"], "hv");
    assert_eq!(json["data"][0]["x"], json!([0.0, 5.0]));
    let beside = figure(&Figure::new("copies", "Copies", panel("a")).beside(panel("b")));
    assert_eq!(beside["layout"]["xaxis2"]["matches"], Value::Null);
    assert!(beside["layout"]["xaxis2"]["domain"][0].as_f64().unwrap() > 0.5);
}

#[test]
fn boxes_cells_and_pies_keep_their_numbers() {
    let numbers = FiveNumbers::of(vec![1.0, 2.0, 3.0]);
    let panel = Panel::new(Axis::categories("layer", ["a", "b"]), Axis::new("time", Unit::Ns))
        .with(Series::new("forward", Hue::Compute, Data::Boxes(vec![None, numbers])).hidden());
    let boxes = &figure(&Figure::new("layers", "Layers", panel))["data"][0];
    assert_eq!(
        (&boxes["x"], &boxes["median"], &boxes["visible"]),
        (&json!([1]), &json!([2.0]), &json!("legendonly"))
    );

    let heat = Panel::new(Axis::categories("step", ["1", "2"]), Axis::categories("rank", ["0", "1"])).with(
        Series::new(
            "period",
            Hue::Critical,
            Data::Cells { values: vec![Some(1.0), Some(2.0), None, Some(4.0)], unit: Unit::Ns },
        ),
    );
    let heat = &figure(&Figure::new("steps", "Steps", heat))["data"][0];
    assert_eq!(heat["z"], json!([[1.0, 2.0], [null, 4.0]]));
    assert_eq!(heat["colorscale"][0][1], "rgba(213,94,0,0.08)");

    let slices = vec![Slice { name: "compute".into(), value: 3.0, hue: Hue::Compute }];
    let pie = &figure(&Figure::new("types", "Types", Panel::pie(slices, Unit::Ns)))["data"][0];
    assert_eq!((&pie["values"], &pie["marker"]["colors"]), (&json!([3.0]), &json!(["#0072B2"])));
}
