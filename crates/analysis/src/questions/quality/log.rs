//! Log lines that a profiler left in the trace and that tell of records it left out.

use gpuscope_trace::{Code, Quality, Severity};

/// Words that, with a number other than 0, tell of records that are not in the trace.
const SIGNS: [&str; 3] = ["dropped", "overflow", OUTSIDE];
/// Records from before or after the recorded window: nothing unusual around a warm-up.
const OUTSIDE: &str = "out-of-range";

pub(super) fn dropped_events(log: &[String]) -> Option<Quality> {
    let told: Vec<Told> = log.iter().flat_map(|line| told(line)).collect();
    let example = told.iter().find(|told| !told.outside).or(told.first())?;
    let count = told.iter().fold(0, |sum: u64, told| sum.saturating_add(told.count));
    let what = if example.outside {
        "outside of the recorded window: warm-up, or GPU work that outlived the last step; --drop-last-step leaves \
         that step out"
    } else {
        "lost: GPU work is missing and idle time is overstated; record fewer steps, or less at a time"
    };
    let message =
        format!("the profiler says that {count} records are not in the trace (\"{}\"), {what}", example.text);
    let mut quality = Quality::new(Code::DroppedEvents, count, message);
    if example.outside {
        quality.severity = Severity::Info;
    }
    Some(quality)
}

/// What a part of a line says.
struct Told<'a> {
    text: &'a str,
    count: u64,
    outside: bool,
}

fn told(line: &str) -> impl Iterator<Item = Told<'_>> {
    // Without the place in the source that wrote the line.
    let message = line.split_once("] ").map_or(line, |(_, message)| message);
    message.split([',', ';']).filter_map(|text| {
        let lower = text.to_ascii_lowercase();
        let sign = SIGNS.into_iter().find(|sign| lower.contains(sign))?;
        let (before, after) = lower.split_once(sign)?;
        let count = numbers(after).next().or_else(|| numbers(before).last()).filter(|count| *count > 0)?;
        Some(Told { text: text.trim(), count, outside: sign == OUTSIDE })
    })
}

fn numbers(text: &str) -> impl Iterator<Item = u64> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(line: &str) -> u64 {
        told(line).map(|told| told.count).sum()
    }

    #[test]
    fn only_a_number_other_than_zero_counts() {
        let counts = "STAGE:2024 99:99 CuptiActivityProfiler.cpp:294] Record counts: Out-of-range = ";
        assert_eq!(lost(&format!("{counts}0, Blocklisted runtime = 52")), 0);
        assert_eq!(lost(&format!("{counts}4181, Blocklisted runtime = 52")), 4181);
        assert_eq!(lost("Profiler.cpp:12] Dropped 7 activity records"), 7);
        assert_eq!(lost("Profiler.cpp:12] 7 records dropped, buffer overflow: 5"), 12);
        assert_eq!(lost("Profiler.cpp:12] no records dropped"), 0);
        assert_eq!(lost("Profiler.cpp:12] Processed 500 GPU records"), 0);
    }

    #[test]
    fn a_loss_weighs_more_than_records_outside_of_the_window() {
        let outside = "a.cpp:1] Record counts: Out-of-range = 5, other = 3".to_owned();
        let entry = dropped_events(std::slice::from_ref(&outside)).unwrap();
        assert_eq!((entry.count, entry.severity), (5, Severity::Info));
        assert!(entry.message.contains("(\"Record counts: Out-of-range = 5\")"), "{}", entry.message);

        let entry = dropped_events(&[outside, "a.cpp:2] Dropped 7 records".to_owned()]).unwrap();
        assert_eq!((entry.count, entry.severity), (12, Severity::Warning));
        assert!(entry.message.contains("\"Dropped 7 records\""), "{}", entry.message);
        assert_eq!(dropped_events(&[]), None);
    }
}
