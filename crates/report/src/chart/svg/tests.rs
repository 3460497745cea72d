use gpuscope_figure::{Axis, Data, FiveNumbers, Hue, Series, Slice, Unit};

use super::*;

/// Elements of one sort with their attributes, in the order in which they are drawn.
fn elements<'s>(svg: &'s str, sort: &str, color: Hue) -> Vec<&'s str> {
    let begins = format!("<{sort} ");
    let lines = svg.lines().filter(|line| line.starts_with(&begins));
    lines.filter(|line| line.contains(color.hex())).collect()
}

fn number(element: &str, name: &str) -> f64 {
    let begins = format!(" {name}=\"");
    let at = element.find(&begins).unwrap_or_else(|| panic!("{name} in {element}")) + begins.len();
    element[at..].split('"').next().unwrap().parse().unwrap()
}

fn draw_alone(panel: Panel) -> String {
    draw(&Figure::new("x", "X", panel), &Dress::FILE)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.3
}

#[test]
fn bars_are_as_long_as_their_values() {
    let values = [8e6, 2e6, 4e6];
    let panel = Panel::new(Axis::new("time", Unit::Ns), Axis::categories("", ["a", "b", "c"]))
        .with(Series::bars("total", Hue::Compute, values.map(Some).into()));
    let svg = draw_alone(panel);
    let bars = elements(&svg, "rect", Hue::Compute);
    assert_eq!(bars.len(), 3);
    for (bar, value) in bars.iter().zip(values) {
        assert!(close(number(bar, "width") / number(bars[0], "width"), value / values[0]), "{bar}");
        assert!(close(number(bar, "x"), number(bars[0], "x")));
    }
    assert!(svg.contains(">8.000 ms<") && svg.contains(">time (ms)<"));
}

#[test]
fn stacked_bars_stand_on_each_other() {
    let panel = Panel::new(Axis::categories("", ["a"]), Axis::new("share", Unit::Percent))
        .stacked()
        .with(Series::bars("x", Hue::Compute, vec![Some(30.0)]))
        .with(Series::bars("y", Hue::Copy, vec![Some(60.0)]));
    let svg = draw_alone(panel);
    let (below, above) = (elements(&svg, "rect", Hue::Compute), elements(&svg, "rect", Hue::Copy));
    // The first of each is in the legend.
    let (below, above) = (below[1], above[1]);
    assert!(close(number(above, "y") + number(above, "height"), number(below, "y")));
    assert!(close(number(above, "height"), 2.0 * number(below, "height")));
}

#[test]
fn points_lie_in_proportion() {
    let points =
        Data::Points { x: vec![0.0, 10.0, 5.0], y: vec![0.0, 100.0, 25.0], sizes: vec![0.0, 4.0, 1.0] };
    let panel = Panel::new(Axis::new("x", Unit::Count), Axis::new("y", Unit::Count)).with(Series::new(
        "",
        Hue::Compute,
        points,
    ));
    let svg = draw_alone(panel);
    let dots = elements(&svg, "circle", Hue::Compute);
    let at = |i: usize| (number(dots[i], "cx"), number(dots[i], "cy"));
    assert!(close(at(2).0, f64::midpoint(at(0).0, at(1).0)));
    assert!(close(at(0).1 - at(2).1, (at(0).1 - at(1).1) / 4.0), "values grow upwards");
    let area = |i: usize| (number(dots[i], "r") - 2.0).powi(2);
    assert!((area(1) / area(2) - 4.0).abs() < 0.1);
}

#[test]
fn boxes_reach_from_quartile_to_quartile() {
    let numbers =
        FiveNumbers { least: 1.0, first_quartile: 2.0, median: 3.0, third_quartile: 6.0, most: 10.0 };
    let half = FiveNumbers { first_quartile: 2.0, third_quartile: 4.0, ..numbers };
    let panel = Panel::new(Axis::new("x", Unit::Count), Axis::categories("", ["a", "b"])).with(Series::new(
        "",
        Hue::Compute,
        Data::Boxes(vec![Some(numbers), Some(half)]),
    ));
    let svg = draw_alone(panel);
    let boxes = elements(&svg, "rect", Hue::Compute);
    assert!(close(number(boxes[0], "width"), 2.0 * number(boxes[1], "width")));
    assert!(close(number(boxes[0], "x"), number(boxes[1], "x")));
}

#[test]
fn cells_are_as_strong_as_their_values_and_the_scale_says_so() {
    let values = vec![Some(0.0), Some(5e6), None, Some(1e7)];
    let panel = Panel::new(Axis::categories("step", ["1", "2"]), Axis::categories("", ["rank 0", "rank 1"]))
        .with(Series::new("waiting", Hue::Critical, Data::Cells { values, unit: Unit::Ns }));
    let svg = draw_alone(panel);
    let noted = |line: &&&str| line.contains("<title>");
    let cells = elements(&svg, "rect", Hue::Critical);
    let cells: Vec<&&str> = cells.iter().filter(noted).collect();
    assert_eq!(cells.len(), 3, "what is not known is not drawn");
    assert!(close(number(cells[1], "fill-opacity"), 0.54) && !cells[2].contains("fill-opacity"));
    assert!(number(cells[0], "x") < number(cells[1], "x") && number(cells[0], "y") < number(cells[2], "y"));
    assert!(svg.contains(">waiting  0<") && svg.contains(">10.00 ms<"));
}

#[test]
fn stretches_lie_in_their_lanes() {
    let stretches = Data::Stretches { lanes: vec![0, 1], from: vec![0.0, 50.0], to: vec![50.0, 100.0] };
    let panel =
        Panel::new(Axis::new("time", Unit::Ns).fitted(), Axis::categories("", ["forward", "backward"]))
            .with(Series::new("", Hue::Host, stretches).noted(vec!["Linear_0".to_owned(), String::new()]));
    let svg = draw_alone(panel);
    let runs = elements(&svg, "rect", Hue::Host);
    assert!(close(number(runs[0], "x") + number(runs[0], "width"), number(runs[1], "x")));
    assert!(number(runs[0], "y") < number(runs[1], "y"));
    assert!(svg.contains(">Linear_0</text>"), "there is room for its name");
}

#[test]
fn areas_stand_on_each_other_and_hidden_lines_are_not_drawn() {
    let x = vec![0.0, 1.0, 2.0];
    let panel = Panel::new(Axis::new("time", Unit::Ns).fitted(), Axis::new("taken", Unit::Bytes))
        .stacked()
        .with(Series::steps("a", Hue::Compute, x.clone(), vec![1.0, 1.0, 1.0], true))
        .with(Series::steps("b", Hue::Copy, x.clone(), vec![1.0, 2.0, 1.0], true))
        .with(Series::steps("all", Hue::Critical, x, vec![50.0, 50.0, 50.0], false).hidden());
    let svg = draw_alone(panel);
    let corners = |hue: Hue| -> Vec<(f64, f64)> {
        let path = elements(&svg, "path", hue)[0].split('"').nth(1).unwrap();
        let pair = |text: &str| {
            let (x, y) = text.trim_end_matches('Z').split_once(' ').unwrap();
            (x.parse().unwrap(), y.parse().unwrap())
        };
        path.split(['M', 'L']).filter(|text| !text.is_empty()).map(pair).collect()
    };
    let (a, b) = (corners(Hue::Compute), corners(Hue::Copy));
    assert!(b.ends_with(&a[..a.len() / 2].iter().rev().copied().collect::<Vec<_>>()), "{a:?} {b:?}");
    assert!(!svg.contains(Hue::Critical.hex()));
    let foot = a.last().unwrap().1;
    let heights: Vec<f64> = b.iter().map(|(_, y)| foot - y).collect();
    assert!(close(heights[2] / heights[0], 1.5), "{heights:?}");
}

#[test]
fn no_text_leaves_the_picture() {
    let long = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, float)";
    let names: Vec<String> = (0..30).map(|i| format!("{long}{i}")).collect();
    let values: Vec<Option<f64>> = (0..30).map(|i| Some(f64::from(i) * 1e6)).collect();
    let bars = Panel::new(Axis::new("time", Unit::Ns), Axis::categories("", names.clone()))
        .with(Series::bars("total", Hue::Compute, values.clone()));
    let upright = Panel::new(Axis::categories("kernel", names.clone()), Axis::new("time", Unit::Ns))
        .with(Series::bars("total", Hue::Compute, values));
    let slices = names.iter().take(5).map(|name| Slice { name: name.clone(), value: 1.0, hue: Hue::Compute });
    let pie = || Panel::pie(slices.clone().collect(), Unit::Ns).titled(long);
    let figures = [
        Figure::new("a", long, bars.clone()).beside(bars),
        Figure::new("b", long, upright),
        Figure::new("c", long, pie()).beside(pie()).beside(pie()),
    ];
    for figure in &figures {
        let svg = draw(figure, &Dress::FILE);
        for line in svg.lines().filter(|line| line.starts_with("<text") && !line.contains("rotate(-90")) {
            let said = line.split('>').nth(1).unwrap().split('<').next().unwrap();
            let said = said.replace("&lt;", "<").replace("&gt;", ">");
            let size = number(line, "font-size");
            let bold = line.contains("bold");
            let width = if bold { bold_width_of(&said, size) } else { width_of(&said, size) };
            let turned = if line.contains("rotate(-35") { 35_f64.to_radians().cos() } else { 1.0 };
            let (x, width) = (number(line, "x"), width * turned);
            let (left, right) = match line {
                line if line.contains("\"end\"") => (x - width, x),
                line if line.contains("\"middle\"") => (x - width / 2.0, x + width / 2.0),
                _ => (x, x + width),
            };
            assert!(
                left >= -0.5 && right <= Dress::FILE.width + 0.5,
                "{} {left:.0} {right:.0}: {line}",
                figure.name
            );
        }
    }
}
