//! Each series as a trace.

use gpuscope_figure::{Course, Data, FiveNumbers, Panel, Series, Slice, Unit};
use serde_json::{Value, json};

use super::Place;
use crate::chart::measure::{Measure, Shown};
use crate::units;

pub(super) fn of(
    panel: &Panel,
    place: &Place,
    (x, y): (&Measure, &Measure),
    named: &mut Vec<String>,
) -> Vec<Value> {
    // Points of all series are measured alike.
    let sizes = panel.series.iter().filter_map(|series| match &series.data {
        Data::Points { sizes, .. } => Some(sizes),
        _ => None,
    });
    let largest = sizes.flatten().copied().fold(0.0, f64::max);
    let traces = panel.series.iter().filter(|series| !series.data.is_empty()).map(|series| {
        let horizontal = panel.y.names().is_some();
        let along = if horizontal { x } else { y };
        let mut trace = match &series.data {
            Data::Bars { values, reach, bases } => bars(values, reach, bases, along, horizontal),
            Data::Boxes(boxes) => boxed(boxes, along, horizontal),
            Data::Line { x: xs, y: ys, course, filled } => {
                let shape = if *course == Course::Stays { "hv" } else { "linear" };
                let mut line = json!({
                    "type": "scatter", "mode": "lines", "x": scaled(xs, &x.shown), "y": scaled(ys, &y.shown),
                    "line": {"shape": shape, "width": 1.5},
                });
                if panel.stacked {
                    line["stackgroup"] = json!(place.axis_id('y'));
                } else {
                    line["fill"] = json!(if *filled { "tozeroy" } else { "none" });
                }
                line
            }
            Data::Points { x: xs, y: ys, sizes } => points((xs, ys), sizes, largest, (x, y)),
            Data::Cells { values, unit } => cells(panel, series, values, *unit, place),
            Data::Stretches { lanes, from, to } => {
                let lengths: Vec<f64> = from.iter().zip(to).map(|(from, to)| to - from).collect();
                json!({
                    "type": "bar", "orientation": "h", "y": lanes, "x": scaled(&lengths, &x.shown),
                    "base": scaled(from, &x.shown), "width": 0.72,
                })
            }
            Data::Slices { slices, unit } => return pie(slices, *unit, place),
        };
        trace["name"] = json!(plain(&series.name));
        trace["legendgroup"] = trace["name"].clone();
        // A heat map has its scale.
        let is_listed = !series.name.is_empty() && !matches!(series.data, Data::Cells { .. });
        let first = is_listed && !named.contains(&series.name);
        trace["showlegend"] = json!(first);
        if first {
            named.push(series.name.clone());
        }
        (trace["xaxis"], trace["yaxis"]) = (json!(place.axis_id('x')), json!(place.axis_id('y')));
        if series.hidden {
            trace["visible"] = json!("legendonly");
        }
        paint(&mut trace, series);
        say(&mut trace, panel, series);
        trace
    });
    traces.collect()
}

fn paint(trace: &mut Value, series: &Series) {
    let color = json!(series.hue.hex());
    match &series.data {
        Data::Line { .. } => trace["line"]["color"] = color,
        Data::Boxes(_) => (trace["marker"], trace["line"]) = (json!({"color": color}), json!({"width": 1.5})),
        Data::Cells { .. } | Data::Slices { .. } => {}
        _ => trace["marker"]["color"] = color,
    }
}

/// What is said when a value is pointed at: the whole name, the value in full, and the notes.
fn say(trace: &mut Value, panel: &Panel, series: &Series) {
    let horizontal = panel.y.names().is_some();
    let unit = if horizontal { panel.x.unit } else { panel.y.unit };
    let names = panel.x.names().or(panel.y.names()).unwrap_or_default();
    let text = |i: usize, value: f64| {
        let mut parts = Vec::new();
        parts.extend(names.get(i).map(|name| plain(name)));
        parts.push(format!("{}{}", units::float(value, unit), percent(unit)));
        parts.extend(series.notes.get(i).filter(|note| !note.is_empty()).map(|note| plain(note)));
        parts.join("<br>")
    };
    let texts: Vec<String> = match &series.data {
        Data::Bars { values, .. } => values
            .iter()
            .enumerate()
            .map(|(i, value)| value.map_or_else(String::new, |v| text(i, v)))
            .collect(),
        Data::Points { .. } | Data::Stretches { .. } if !series.notes.is_empty() => {
            series.notes.iter().map(|note| plain(note)).collect()
        }
        _ => return,
    };
    trace["hovertext"] = json!(texts);
    trace["hoverinfo"] = json!("text+name");
}

fn percent(unit: Unit) -> &'static str {
    if unit == Unit::Percent { " %" } else { "" }
}

fn bars(
    values: &[Option<f64>],
    reach: &[(f64, f64)],
    bases: &[f64],
    along: &Measure,
    horizontal: bool,
) -> Value {
    let divisor = along.shown.divisor;
    let lengths: Vec<Option<f64>> = values.iter().map(|value| value.map(|value| value / divisor)).collect();
    let places: Vec<usize> = (0..values.len()).collect();
    let mut trace = if horizontal {
        json!({"type": "bar", "orientation": "h", "y": places, "x": lengths})
    } else {
        json!({"type": "bar", "x": places, "y": lengths})
    };
    if !bases.is_empty() {
        trace["base"] = json!(scaled(bases, &along.shown));
    }
    if !reach.is_empty() {
        let end = |i: usize| values.get(i).copied().flatten().unwrap_or(0.0);
        let above: Vec<f64> =
            reach.iter().enumerate().map(|(i, (_, most))| (most - end(i)) / divisor).collect();
        let below: Vec<f64> =
            reach.iter().enumerate().map(|(i, (least, _))| (end(i) - least) / divisor).collect();
        let whiskers = json!({"type": "data", "symmetric": false, "array": above, "arrayminus": below, "thickness": 1.2});
        trace[if horizontal { "error_x" } else { "error_y" }] = whiskers;
    }
    trace
}

fn boxed(boxes: &[Option<FiveNumbers>], along: &Measure, horizontal: bool) -> Value {
    let known: Vec<(usize, &FiveNumbers)> =
        boxes.iter().enumerate().filter_map(|(i, numbers)| Some((i, numbers.as_ref()?))).collect();
    let places: Vec<usize> = known.iter().map(|(i, _)| *i).collect();
    let take = |part: fn(&FiveNumbers) -> f64| -> Vec<f64> {
        known.iter().map(|(_, numbers)| part(numbers) / along.shown.divisor).collect()
    };
    let mut trace = json!({
        "type": "box", "orientation": if horizontal { "h" } else { "v" },
        "q1": take(|n| n.first_quartile), "median": take(|n| n.median), "q3": take(|n| n.third_quartile),
        "lowerfence": take(|n| n.least), "upperfence": take(|n| n.most),
    });
    trace[if horizontal { "y" } else { "x" }] = json!(places);
    trace
}

fn points((xs, ys): (&[f64], &[f64]), sizes: &[f64], largest: f64, (x, y): (&Measure, &Measure)) -> Value {
    let diameters: Vec<f64> = sizes
        .iter()
        .map(|size| if largest > 0.0 { 4.0 + 28.0 * (size / largest).sqrt() } else { 8.0 })
        .collect();
    json!({
        "type": "scatter", "mode": "markers", "x": scaled(xs, &x.shown), "y": scaled(ys, &y.shown),
        "marker": {"size": if diameters.is_empty() { json!(8) } else { json!(diameters) }, "opacity": 0.75},
    })
}

fn cells(panel: &Panel, series: &Series, values: &[Option<f64>], unit: Unit, place: &Place) -> Value {
    let columns = panel.x.names().map_or(1, <[String]>::len).max(1);
    let largest = values.iter().flatten().copied().fold(0.0, f64::max);
    let shown = Shown::for_largest(unit, largest);
    let scaled: Vec<Option<f64>> =
        values.iter().map(|value| value.map(|value| value / shown.divisor)).collect();
    let rows: Vec<&[Option<f64>]> = scaled.chunks(columns).collect();
    // The heading of a panel says what it is about.
    let scale = if panel.title.is_empty() { shown.heading(&series.name) } else { shown.name.to_owned() };
    json!({
        "type": "heatmap", "z": rows, "xgap": 1, "ygap": 1,
        "x": (0..columns).collect::<Vec<_>>(), "y": (0..rows.len()).collect::<Vec<_>>(),
        "colorscale": [[0, faded(series.hue.hex())], [1, series.hue.hex()]],
        // Beside its own panel.
        "colorbar": {
            "title": {"text": plain(&scale), "side": "right"}, "thickness": 12,
            "x": place.x.1, "y": f64::midpoint(place.y.0, place.y.1), "len": place.y.1 - place.y.0,
        },
    })
}

/// The colour, faint; with an alpha, so that it suits any ground.
fn faded(hex: &str) -> String {
    let part = |at: usize| hex.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0);
    format!("rgba({},{},{},0.08)", part(1), part(3), part(5))
}

fn pie(slices: &[Slice], unit: Unit, place: &Place) -> Value {
    let slices: Vec<&Slice> = slices.iter().filter(|slice| slice.value > 0.0).collect();
    let said: Vec<String> = slices
        .iter()
        .map(|slice| format!("{}<br>{}", plain(&slice.name), units::float(slice.value, unit)))
        .collect();
    // Slices of one label would be one slice.
    let labels =
        crate::names::told_apart(&slices.iter().map(|slice| slice.name.as_str()).collect::<Vec<_>>(), 40);
    json!({
        "type": "pie", "sort": false, "direction": "clockwise", "textinfo": "percent",
        "labels": labels.iter().map(|label| plain(label)).collect::<Vec<_>>(),
        "values": slices.iter().map(|slice| slice.value).collect::<Vec<_>>(),
        "marker": {"colors": slices.iter().map(|slice| slice.hue.hex()).collect::<Vec<_>>()},
        "hovertext": said, "hoverinfo": "text+percent",
        "domain": {"x": [place.x.0, place.x.1], "y": [place.y.0, place.y.1]},
    })
}

fn scaled(values: &[f64], shown: &Shown) -> Vec<f64> {
    values.iter().map(|value| value / shown.divisor).collect()
}

/// Plotly reads some HTML in its texts; a kernel named `<b>` is not bold.
pub(super) fn plain(text: &str) -> String {
    crate::text::one_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
