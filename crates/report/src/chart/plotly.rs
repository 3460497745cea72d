//! A figure as plotly has it: `{data, layout}`, in the units the axes are shown in.
//!
//! Colours of text and grid are left to the page, which knows its theme.

mod traces;

use gpuscope_figure::{Arrangement, Axis, Figure, Panel, Scale};
use serde_json::{Map, Value, json};

use super::measure::{self, Measure};

/// A gap between panels, as a share of the whole.
const GAP: f64 = 0.09;

pub fn figure(figure: &Figure) -> Value {
    let mut data = Vec::new();
    let mut layout = Map::new();
    let count = figure.panels.len().max(1);
    let shares_x = figure.arrangement == Arrangement::Stacked && count > 1;
    let mut annotations = Vec::new();
    let mut shapes = Vec::new();
    let mut named = Vec::new();
    for (i, panel) in figure.panels.iter().enumerate() {
        let place = Place::of(i, count, figure.arrangement).with_room_for(panel);
        let (mut x, y) = measure::axes(panel);
        if shares_x {
            x = measure::shared(&figure.panels);
        }
        if !panel.title.is_empty() {
            annotations.push(heading(&panel.title, &place));
        }
        shapes.extend(panel.bands.iter().map(|band| {
            let divisor = x.shown.divisor;
            json!({
                "type": "rect", "layer": "below", "line": {"width": 0}, "opacity": 0.13,
                "fillcolor": band.hue.hex(), "xref": place.axis_id('x'), "yref": format!("{} domain", place.axis_id('y')),
                "x0": band.from / divisor, "x1": band.to / divisor, "y0": 0, "y1": 1,
                "label": {"text": band.name, "textposition": "top center"},
            })
        }));
        data.extend(traces::of(panel, &place, (&x, &y), &mut named));
        if !panel.is_pie() {
            let last = i + 1 == count;
            layout.insert(place.axis_name('x'), x_axis(panel, &x, &place, shares_x, last));
            layout.insert(place.axis_name('y'), y_axis(panel, &y, &place));
        }
    }
    layout.insert("barmode".to_owned(), json!(bar_mode(figure)));
    if figure.panels.iter().any(Panel::is_pie) {
        // Pies name many slices; what they are headed by stands above them.
        layout.insert("legend".to_owned(), json!({"y": -0.04, "yanchor": "top"}));
    }
    layout.insert("boxmode".to_owned(), json!("group"));
    layout.insert("annotations".to_owned(), Value::Array(annotations));
    layout.insert("shapes".to_owned(), Value::Array(shapes));
    layout.insert("showlegend".to_owned(), json!(named.len() > 1 || figure.panels.iter().any(Panel::is_pie)));
    json!({"data": data, "layout": layout})
}

fn bar_mode(figure: &Figure) -> &'static str {
    use gpuscope_figure::Data;
    let overlaid = |panel: &Panel| {
        let lies = |data: &Data| {
            matches!(data, Data::Stretches { .. })
                || matches!(data, Data::Bars { bases, .. } if !bases.is_empty())
        };
        panel.series.iter().any(|series| lies(&series.data))
    };
    match () {
        () if figure.panels.iter().any(|panel| panel.stacked) => "relative",
        () if figure.panels.iter().any(overlaid) => "overlay",
        () => "group",
    }
}

/// Where a panel lies in the figure, in shares of it.
struct Place {
    number: usize,
    x: (f64, f64),
    y: (f64, f64),
}

impl Place {
    fn of(number: usize, count: usize, arrangement: Arrangement) -> Place {
        let length = (1.0 - GAP * (count as f64 - 1.0)) / count as f64;
        let from = number as f64 * (length + GAP);
        match arrangement {
            // Plotly counts from below.
            Arrangement::Stacked => Place { number, x: (0.0, 1.0), y: (1.0 - from - length, 1.0 - from) },
            Arrangement::SideBySide => Place { number, x: (from, from + length), y: (0.0, 1.0) },
        }
    }

    /// Beside another panel, names of rows need room of their own; at the edge the page makes room.
    fn with_room_for(self, panel: &Panel) -> Place {
        const LETTER: f64 = 0.0072;
        let rows = panel.y.names().filter(|_| self.x.0 > 0.0 && !panel.is_pie());
        let longest = rows.into_iter().flatten().map(|name| name.chars().count().min(40)).max().unwrap_or(0);
        let needed = (longest as f64 * LETTER - GAP).clamp(0.0, (self.x.1 - self.x.0) / 2.0);
        Place { x: (self.x.0 + needed, self.x.1), ..self }
    }

    /// `x`, `x2`, …
    fn axis_id(&self, axis: char) -> String {
        if self.number == 0 { axis.to_string() } else { format!("{axis}{}", self.number + 1) }
    }

    /// `xaxis`, `xaxis2`, …
    fn axis_name(&self, axis: char) -> String {
        if self.number == 0 { format!("{axis}axis") } else { format!("{axis}axis{}", self.number + 1) }
    }
}

fn heading(title: &str, place: &Place) -> Value {
    json!({
        "text": traces::plain(title), "showarrow": false, "xref": "paper", "yref": "paper",
        "x": place.x.0, "y": place.y.1, "xanchor": "left", "yanchor": "bottom",
    })
}

fn x_axis(panel: &Panel, x: &Measure, place: &Place, shares: bool, last: bool) -> Value {
    let mut axis = common(&panel.x, x);
    axis["domain"] = json!([place.x.0, place.x.1]);
    axis["anchor"] = json!(place.axis_id('y'));
    if shares {
        if place.number > 0 {
            axis["matches"] = json!("x");
        }
        axis["showticklabels"] = json!(last);
        if !last {
            axis["title"] = Value::Null;
        }
    }
    axis
}

fn y_axis(panel: &Panel, y: &Measure, place: &Place) -> Value {
    let mut axis = common(&panel.y, y);
    axis["domain"] = json!([place.y.0, place.y.1]);
    axis["anchor"] = json!(place.axis_id('x'));
    if panel.y.names().is_some() {
        // The first row is the uppermost.
        axis["autorange"] = json!("reversed");
    }
    axis
}

fn common(axis: &Axis, measure: &Measure) -> Value {
    let heading = match axis.scale {
        Scale::Categories(_) => axis.label.clone(),
        _ => measure.shown.heading(&axis.label),
    };
    let mut json = json!({"title": {"text": traces::plain(&heading)}, "automargin": true, "zeroline": false});
    match &axis.scale {
        Scale::Categories(names) => {
            json["type"] = json!("category");
            let places: Vec<usize> = (0..names.len()).collect();
            let texts: Vec<String> =
                crate::names::told_apart(names, 40).iter().map(|name| traces::plain(name)).collect();
            (json["tickvals"], json["ticktext"]) = (json!(places), json!(texts));
            // By number, as two kernels may have the same short name.
            json["type"] = json!("linear");
            json["range"] = json!([-0.5, names.len() as f64 - 0.5]);
        }
        Scale::Logarithmic => json["type"] = json!("log"),
        Scale::Linear => json["rangemode"] = json!("tozero"),
        Scale::Fitted => {}
    }
    json
}

#[cfg(test)]
mod tests;
