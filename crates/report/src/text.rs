//! Cells and headings as text, and how long ones are shortened.

use gpuscope_table::{Column, Unit, Values};

use crate::units;

/// A cell for people.
pub(crate) fn cell(column: &Column, row: usize) -> String {
    match &column.values {
        Values::Int(values) => values[row].map_or(MISSING.to_owned(), |value| units::int(value, column.unit)),
        Values::Float(values) => {
            values[row].map_or(MISSING.to_owned(), |value| units::float(value, column.unit))
        }
        Values::Text(values) => values[row].as_deref().map_or(MISSING.to_owned(), one_line),
    }
}

pub(crate) const MISSING: &str = "–";

/// Names from a trace may hold anything; in a table they take one line and cannot steer the terminal, nor turn
/// around what is read.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_steering(c) { ' ' } else { c }).collect()
}

/// Marks that break lines or change the direction of writing.
fn is_steering(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// The name of a finding as JSON has it.
pub(crate) fn code(code: gpuscope_trace::Code) -> String {
    serde_json::to_value(code).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// `exposed_comm_ns` is headed `exposed comm`: the cells say the unit, but for percentages and large rates.
pub(crate) fn heading(column: &Column) -> String {
    let end = match column.unit {
        Unit::Ns | Unit::TimestampNs => "_ns",
        Unit::Bytes => "_bytes",
        Unit::BytesPerSecond => "_bytes_per_s",
        Unit::PerSecond => "_per_s",
        Unit::Percent => "_pct",
        Unit::GigabytesPerSecond => "_gb_per_s",
        Unit::Gigaflops => "_gflops",
        Unit::TerabytesPerSecond => "_tb_per_s",
        Unit::TeraflopsPerSecond => "_tflops_per_s",
        Unit::None | Unit::Count | Unit::Ratio => "",
    };
    let name = column.name.strip_suffix(end).unwrap_or(column.name).replace('_', " ");
    match column.unit {
        Unit::TimestampNs => format!("{name} (ns)"),
        Unit::Percent if name == "pct" => "%".to_owned(),
        Unit::Percent => format!("{} %", name.strip_prefix("pct ").unwrap_or(&name)),
        Unit::Gigaflops if name == "gflops" => "FLOPs".to_owned(),
        Unit::GigabytesPerSecond if name == "gb per s" => "bandwidth".to_owned(),
        Unit::TerabytesPerSecond => rate(&name, "tb per s", "TB/s"),
        Unit::TeraflopsPerSecond => rate(&name, "tflops per s", "TFLOP/s"),
        _ => name,
    }
}

/// `TB/s`, or `peak TB/s` for a column that is about something.
fn rate(name: &str, bare: &str, unit: &str) -> String {
    if name == bare { unit.to_owned() } else { format!("{name} {unit}") }
}

/// Whether there is anything to see in a column.
pub(crate) fn has_values(column: &Column) -> bool {
    match &column.values {
        Values::Int(values) => values.iter().any(Option::is_some),
        Values::Float(values) => values.iter().any(Option::is_some),
        Values::Text(values) => values.iter().any(Option::is_some),
    }
}

pub(crate) fn is_number(column: &Column) -> bool {
    !matches!(column.values, Values::Text(_))
}

/// How many places a text takes on a terminal; wide scripts take two each.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

fn char_width(c: char) -> usize {
    match c {
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

/// Breaks prose into lines of at most that width; a longer word is cut.
pub(crate) fn wrap(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.extend(pieces(word, most)),
        }
    }
    lines
}

/// Cuts a text wherever the width is used up.
pub(crate) fn pieces(word: &str, most: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for c in word.chars() {
        if used + char_width(c) > most.max(2) {
            pieces.push(String::new());
            used = 0;
        }
        used += char_width(c);
        if let Some(piece) = pieces.last_mut() {
            piece.push(c);
        }
    }
    pieces
}

/// Shortens in the middle: kernels of one family begin alike and differ at the end.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(1);
    let (left, right) = (room.div_ceil(2), room / 2);
    let take = |chars: &mut dyn Iterator<Item = char>, room: usize| {
        let mut used = 0;
        let fits = |c: &char| {
            used += char_width(*c);
            used <= room
        };
        chars.take_while(fits).collect::<Vec<char>>()
    };
    let start: String = take(&mut text.chars(), left).into_iter().collect();
    let end: String = take(&mut text.chars().rev(), right).into_iter().rev().collect();
    format!("{start}…{end}")
}

/// Shortens at the front: of a path the end says most.
pub(crate) fn shorten_path(path: &str, most: usize) -> String {
    if width(path) <= most {
        return path.to_owned();
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += char_width(*c);
        used <= most
    };
    let end: Vec<char> = path.chars().rev().take_while(fits).collect();
    std::iter::once('…').chain(end.into_iter().rev()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shorten("void gemm_kernel<float, 128>", 11), "void … 128>");
        assert_eq!(shorten("short", 11), "short");
        assert_eq!(shorten_path("/data/run/rank0.json", 11), "…rank0.json");
        assert_eq!(shorten_path("rank0.json", 11), "rank0.json");
        assert!(width(&shorten("カーネルの名前です", 7)) <= 7);
    }

    #[test]
    fn prose_is_broken_between_words_and_long_words_are_cut() {
        assert_eq!(wrap("a bc def ghijklmno", 5), ["a bc", "def", "ghijk", "lmno"]);
        assert!(wrap("  ", 5).is_empty());
    }

    #[test]
    fn control_characters_cannot_steer_the_terminal() {
        assert_eq!(one_line("a\u{1b}[31mb\nc"), "a [31mb c");
        assert_eq!(one_line("a\u{9b}31m\u{202e}b"), "a 31m b");
    }
}
