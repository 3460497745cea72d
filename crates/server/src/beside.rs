//! What stands first where two runs are compared: which they are, their six numbers, and how one step time becomes the other.

use std::fmt::Write as _;

use gpuscope_report::html::escaped;
use serde_json::Value;

use crate::asker::{Measured, Scale};
use crate::index::Run;
use crate::pages::urlencoded;

/// The look of it, in both themes.
const STYLE: &str = include_str!("beside.css");

/// From the answer of `diff` as programs get it.
pub(crate) fn section(a: &Run, b: &Run, answer: &Value) -> String {
    let data = &answer["data"];
    let mut section = format!("<style>{STYLE}</style><section class=\"beside\"><h1>{}</h1>", title(a, b));
    section.push_str(&doubts(data["verdict"].as_str().unwrap_or_default()));
    section.push_str(&named(a, b, data));
    section.push_str(&numbers(a, b));
    section.push_str(&waterfall(data));
    section.push_str("</section>");
    section
}

/// What makes the two hardly comparable, before any number.
fn doubts(verdict: &str) -> String {
    let doubt = verdict.split("; ").next().filter(|first| first.starts_with("Hardly comparable"));
    doubt.map(|doubt| format!("<p class=\"warning\"><b>{}.</b></p>", escaped(doubt))).unwrap_or_default()
}

/// The page of the answer under the names of both instead of the command's.
pub(crate) fn renamed(page: &[u8], a: &Run, b: &Run) -> Vec<u8> {
    let text = String::from_utf8_lossy(page);
    let title = format!("<title>{}</title>", title(a, b));
    let text = text.replacen("<title>gpuscope diff</title>", &title, 1);
    text.replacen("<h1>gpuscope diff</h1>", "<h2>What changed</h2>", 1).into_bytes()
}

pub(crate) fn title(a: &Run, b: &Run) -> String {
    format!("{} → {}", escaped(&a.source.name), escaped(&b.source.name))
}

/// A and B by name, each with its timeline at the step that is the middle one of those that both have.
fn named(a: &Run, b: &Run, data: &Value) -> String {
    let steps: Vec<(i64, i64)> = data["steps"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| Some((row["a_step"].as_i64()?, row["b_step"].as_i64()?)))
        .collect();
    let middle = steps.get(steps.len() / 2).copied();
    let line = |letter: &str, run: &Run, step: Option<i64>| {
        let id = urlencoded(&run.id);
        let (query, at) = match step {
            Some(step) => (format!("?step={step}"), format!(" at step {step}")),
            None => (String::new(), String::new()),
        };
        format!(
            "<li><b>{letter}</b> = <a href=\"runs/{id}/analyze\">{}</a> · <a href=\"runs/{id}/timeline{query}\">timeline{at}</a></li>",
            escaped(&run.source.name),
        )
    };
    format!("<ul>{}{}</ul>", line("A", a, middle.map(|(a, _)| a)), line("B", b, middle.map(|(_, b)| b)))
}

fn numbers(a: &Run, b: &Run) -> String {
    let of =
        |run: &Run| run.overview.as_deref().map(|overview| overview.measured.clone()).unwrap_or_default();
    let (before, after) = (of(a), of(b));
    if before.is_empty() && after.is_empty() {
        return String::new();
    }
    let mut table = "<div class=\"wide\"><table><thead><tr><th scope=\"col\">Whole run</th><th scope=\"col\" class=\"n\">A</th>\
         <th scope=\"col\" class=\"n\">B</th><th scope=\"col\" class=\"n\">Change</th></tr></thead><tbody>"
        .to_owned();
    for a in &before {
        let Some(b) = after.iter().find(|b| b.label == a.label) else { continue };
        let unit = unit_of(a.unit, [a.value, b.value]);
        let _ = write!(
            table,
            "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            escaped(&a.label),
            shown(a, unit),
            shown(b, unit),
            change(a, b)
        );
    }
    table.push_str("</tbody></table></div>");
    table
}

/// What both are shown in: the larger one decides.
type Unit = (f64, &'static str);

fn unit_of(scale: Scale, values: [Option<f64>; 2]) -> Unit {
    let most = values.into_iter().flatten().fold(0.0, |most: f64, value| most.max(value.abs()));
    let units: &[Unit] = match scale {
        Scale::Percent => return (1.0, "%"),
        Scale::Ns => &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")],
        Scale::Bytes => &[(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB"), (1.0, "B")],
    };
    units.iter().copied().find(|(size, _)| most >= *size).unwrap_or(units[units.len() - 1])
}

fn shown(number: &Measured, unit: Unit) -> String {
    match number.value {
        Some(value) => in_unit(value, unit),
        None if number.note.is_empty() => "not known".to_owned(),
        None => format!("<span class=\"soft\">{}</span>", escaped(&number.note)),
    }
}

/// To three digits.
fn in_unit(value: f64, (size, name): Unit) -> String {
    let value = value / size;
    let digits = match value.abs() {
        ..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {name}")
}

/// Of a share in points, of anything else in per cent, or as a factor where per cent say nothing any more.
fn change(a: &Measured, b: &Measured) -> String {
    let (Some(before), Some(after)) = (a.value, b.value) else { return String::new() };
    if a.unit == Scale::Percent {
        return format!("{} pp", signed(after - before, 1));
    }
    if before <= 0.0 {
        return String::new();
    }
    let factor = after / before;
    if factor >= 10.0 {
        format!("× {factor:.1}")
    } else {
        format!("{} %", signed((factor - 1.0) * 100.0, 1))
    }
}

fn signed(value: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", value.abs());
    let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let sign = if is_zero {
        ""
    } else if value > 0.0 {
        "+"
    } else {
        "−"
    };
    format!("{sign}{text}")
}

/// From the step time of one to that of the other, part by part: the parts add up to the ends, exactly.
fn waterfall(data: &Value) -> String {
    let parts: Vec<(&str, f64, f64)> = data["step_parts"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| Some((row["part"].as_str()?, row["a_ns"].as_f64()?, row["b_ns"].as_f64()?)))
        .collect();
    if parts.is_empty() {
        return "<p class=\"soft\">At least one of the runs has no marked steps, so step times cannot be broken down.</p>".to_owned();
    }
    let sum = |of: fn(&(&str, f64, f64)) -> f64| parts.iter().map(of).sum::<f64>();
    let (before, after) = (sum(|part| part.1), sum(|part| part.2));
    let unit = unit_of(Scale::Ns, [Some(before), Some(after)]);
    let mut most = before.max(after);
    let mut at = before;
    for (_, a, b) in &parts {
        at += b - a;
        most = most.max(at);
    }
    let bar = |from: f64, to: f64, class: &str| {
        if (to - from).abs() < 1.0 {
            return String::new();
        }
        let share = |value: f64| value / most.max(1.0) * 100.0;
        let (left, right) = (share(from.min(to)).max(0.0), share(from.max(to)));
        format!("<span class=\"{class}\" style=\"margin-left:{left:.2}%;width:{:.2}%\"></span>", right - left)
    };
    let row = |name: &str, cells: [String; 3], bar: String| {
        let [a, b, change] = cells;
        format!(
            "<tr><th scope=\"row\">{name}</th><td class=\"n\">{a}</td><td class=\"n\">{b}</td><td class=\"n\">{change}</td>\
             <td class=\"fall\">{bar}</td></tr>"
        )
    };
    let mut table = "<h2>From the step time of A to that of B</h2><p class=\"soft\">A step of the median rank, part by part; charts \
         further down that say so are of the whole recording.</p><div class=\"wide\"><table><thead><tr><th scope=\"col\">Part of a \
         step</th><th scope=\"col\" class=\"n\">A</th><th scope=\"col\" class=\"n\">B</th><th scope=\"col\" class=\"n\">Change</th>\
         <th scope=\"col\" class=\"fall\" aria-label=\"Drawn\"></th></tr></thead><tbody>"
        .to_owned();
    let nothing = String::new;
    table.push_str(&row(
        "step time of A",
        [in_unit(before, unit), nothing(), nothing()],
        bar(0.0, before, "whole"),
    ));
    let mut at = before;
    for (name, a, b) in &parts {
        let (delta, class) = (b - a, if b > a { "more" } else { "less" });
        let size = format!(
            "{}{}",
            if delta > 0.0 {
                "+"
            } else if delta < 0.0 {
                "−"
            } else {
                ""
            },
            in_unit(delta.abs(), unit)
        );
        let cells = [in_unit(*a, unit), in_unit(*b, unit), size];
        table.push_str(&row(&escaped(name), cells, bar(at, at + delta, class)));
        at += delta;
    }
    table.push_str(&row(
        "step time of B",
        [nothing(), in_unit(after, unit), nothing()],
        bar(0.0, after, "whole"),
    ));
    table.push_str("</tbody></table></div>");
    table
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn measured(value: Option<f64>, unit: Scale) -> Measured {
        Measured { label: "x".to_owned(), value, unit, note: "no steps".to_owned() }
    }

    #[test]
    fn both_are_shown_in_one_unit() {
        let unit = unit_of(Scale::Ns, [Some(3_520.0), Some(45_000_000.0)]);
        assert_eq!(in_unit(45_000_000.0, unit), "45.0 ms");
        assert_eq!(in_unit(3_520.0, unit), "0.00 ms");
        assert_eq!(shown(&measured(None, Scale::Ns), unit), "<span class=\"soft\">no steps</span>");
    }

    #[test]
    fn changes_are_shares_points_or_factors() {
        let change = |a, b, unit| change(&measured(Some(a), unit), &measured(Some(b), unit));
        assert_eq!(change(100.0, 90.0, Scale::Ns), "−10.0 %");
        assert_eq!(change(100.0, 1_500.0, Scale::Ns), "× 15.0");
        assert_eq!(change(64.6, 99.0, Scale::Percent), "+34.4 pp");
        assert_eq!(change(5.0, 5.0, Scale::Bytes), "0.0 %");
    }

    #[test]
    fn doubts_come_first_and_only_where_there_are_some() {
        let verdict = "Hardly comparable: only 36 % of the operators are in both; step time 49.4 ms → 383 ms";
        assert!(
            doubts(verdict).contains("<b>Hardly comparable: only 36 % of the operators are in both.</b>")
        );
        assert_eq!(doubts("Step time 49.4 ms → 50 ms"), "");
    }

    #[test]
    fn the_parts_lead_from_one_step_time_to_the_other() {
        let data = json!({"step_parts": [
            {"part": "computation", "a_ns": 30_000_000, "b_ns": 20_000_000},
            {"part": "GPU <idle>", "a_ns": 10_000_000, "b_ns": 40_000_000},
        ]});
        let shown = waterfall(&data);
        assert!(
            shown.contains("<td class=\"n\">40.0 ms</td>") && shown.contains("<td class=\"n\">60.0 ms</td>"),
            "{shown}"
        );
        assert!(
            shown.contains("−10.0 ms") && shown.contains("+30.0 ms") && shown.contains("GPU &lt;idle&gt;"),
            "{shown}"
        );
        assert!(shown.contains("margin-left:50.00%;width:16.67%"), "{shown}");
        assert!(waterfall(&json!({})).contains("cannot be broken down"));
    }
}
