//! torch's memory timelines (`export_memory_timeline`), both texts that it writes:
//!
//! - raw: `[[t_ns, action, bytes, category], …]`, one entry per change, bytes below zero for what went;
//! - `.json`: `[[t_us, …], [[0, bytes of each category …], …]]`, one list of sizes per time.
//!
//! The action says how a change came about and adds nothing to the sums, so it is not kept.

use gpuscope_trace::{Code, MemoryCategory, MemoryChange, MemoryTimeline, Ns, Payload, Quality, Trace};

use crate::{Parsed, Poured, ReadError, Stream};

/// What such files are called as inputs.
pub(crate) const FORMAT: &str = "memory_timeline";

const CATEGORIES: usize = MemoryCategory::ALL.len();

/// What is longer is no number.
const LONGEST_NUMBER: usize = 64;

/// Times above this are nanoseconds since the epoch (1973 at least), below it microseconds (up to the year 5138).
const NANOSECONDS_FROM: i64 = 100_000_000_000_000_000;

/// Whether a text begins like one: a list of lists of numbers.
pub(crate) fn is_one(text: &[u8]) -> bool {
    let inner = |text: &[u8]| Some(text.trim_ascii_start().strip_prefix(b"[")?.trim_ascii_start().to_owned());
    let head = &text[..text.len().min(256)];
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let first = inner(head).and_then(|head| inner(&head));
    first.is_some_and(|head| matches!(head.first(), Some(b'-' | b'0'..=b'9')))
}

/// Which of the two texts it is.
#[derive(Debug)]
enum Form {
    /// Only the second list tells: until then this is the first.
    Unknown(Option<Vec<i64>>),
    Raw,
    Sizes {
        times: Vec<i64>,
        next: usize,
        before: [i64; CATEGORIES],
    },
}

/// Takes in the text piece by piece, cut anywhere.
#[derive(Debug)]
pub(crate) struct Reader {
    form: Form,
    depth: u32,
    /// The text of the number on its way.
    number: Vec<u8>,
    /// The numbers of the list on its way, and whether something else was among them.
    list: Vec<i64>,
    is_damaged: bool,
    damaged: u64,
    entries: u64,
    timeline: MemoryTimeline,
}

impl Default for Reader {
    fn default() -> Self {
        Reader {
            form: Form::Unknown(None),
            depth: 0,
            number: Vec::new(),
            list: Vec::new(),
            is_damaged: false,
            damaged: 0,
            entries: 0,
            timeline: MemoryTimeline::default(),
        }
    }
}

impl Stream for Reader {
    fn feed(&mut self, buffer: &[u8], from: usize, to: usize, _last: bool) -> Result<usize, ReadError> {
        self.take(&buffer[from..to]);
        Ok(to)
    }

    fn taken(&self) -> (u64, u64) {
        ((self.timeline.changes.capacity() * size_of::<MemoryChange>()) as u64, self.entries)
    }

    fn finish(self: Box<Self>, poured: &Poured) -> Result<Parsed, ReadError> {
        let broken = poured.broken.as_ref().map(|broken| broken.why.as_str());
        Ok(Parsed { traces: vec![self.into_trace(poured.text_bytes, broken)?], format: FORMAT })
    }
}

impl Reader {
    fn take(&mut self, text: &[u8]) {
        for byte in text {
            match byte {
                b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9' if self.number.len() < LONGEST_NUMBER => {
                    self.number.push(*byte);
                }
                b'[' => self.open(),
                b']' => self.close(),
                b',' | b' ' | b'\t' | b'\r' | b'\n' => self.end_number(),
                _ => self.is_damaged = true,
            }
        }
    }

    fn end_number(&mut self) {
        if self.number.is_empty() {
            return;
        }
        match integer(&self.number) {
            Some(number) => self.list.push(number),
            None => self.is_damaged = true,
        }
        self.number.clear();
    }

    fn open(&mut self) {
        self.end_number();
        self.depth += 1;
        if self.depth == 3
            && self.list.is_empty()
            && let Form::Unknown(first) = &mut self.form
            && let Some(times) = first.take()
        {
            self.form = Form::Sizes { times, next: 0, before: [0; CATEGORIES] };
        }
        self.list.clear();
    }

    fn close(&mut self) {
        self.end_number();
        let depth = self.depth;
        self.depth = depth.saturating_sub(1);
        let list = std::mem::take(&mut self.list);
        if std::mem::take(&mut self.is_damaged) {
            self.damaged += 1;
            return;
        }
        match (&mut self.form, depth) {
            (Form::Unknown(first @ None), 2) => *first = Some(list),
            (Form::Unknown(first), 2) => {
                let first = first.take();
                self.form = Form::Raw;
                self.raw_entry(first.unwrap_or_default());
                self.raw_entry(list);
            }
            (Form::Raw, 2) => self.raw_entry(list),
            (Form::Sizes { .. }, 3) => self.sizes_entry(&list),
            // The end of the sizes, or of everything.
            (Form::Sizes { .. }, 2) | (_, 1) => {}
            _ => self.damaged += 1,
        }
    }

    fn raw_entry(&mut self, entry: Vec<i64>) {
        if let [time, _action, bytes, category] = entry[..] {
            self.entries += 1;
            let category = MemoryCategory::of_number(category);
            self.timeline.changes.push(MemoryChange { time: limited(time), bytes, category });
        } else {
            self.damaged += 1;
        }
        // The next entry is written to the same place.
        self.list = entry;
        self.list.clear();
    }

    fn sizes_entry(&mut self, entry: &[i64]) {
        let Form::Sizes { times, next, before } = &mut self.form else { return };
        let time = times.get(*next).copied();
        *next += 1;
        // A zero comes first, from which torch stacks the areas of its picture.
        let sizes = if entry.len() == CATEGORIES + 1 { &entry[1..] } else { entry };
        let (Some(time), true) = (time, sizes.len() == CATEGORIES) else {
            self.damaged += 1;
            return;
        };
        self.entries += 1;
        let is_ns = !(0..NANOSECONDS_FROM).contains(&time);
        let time = limited(if is_ns { time } else { time.saturating_mul(1000) });
        for ((category, size), before) in MemoryCategory::ALL.into_iter().zip(sizes).zip(before) {
            let bytes = size.saturating_sub(*before);
            *before = *size;
            if bytes != 0 {
                self.timeline.changes.push(MemoryChange { time, bytes, category });
            }
        }
    }

    /// What was read, when all text has been fed; `broken` says why the text itself broke off, if it did.
    fn into_trace(mut self, text_bytes: u64, broken: Option<&str>) -> Result<Trace, ReadError> {
        if let Form::Unknown(Some(only)) = &mut self.form {
            let only = std::mem::take(only);
            self.raw_entry(only);
        }
        if self.entries == 0 {
            let expected = "expected trace events (objects with a `ph`) in the top-level array, or the entries \
                            `[time, action, bytes, category]` of a memory timeline";
            return Err(ReadError::NotATrace { offset: 0, expected: expected.to_owned() });
        }
        let mut quality = Vec::new();
        if self.depth > 0 || broken.is_some() {
            let message = format!(
                "the file breaks off at byte {text_bytes} of its text ({}); {} whole entries were read",
                broken.unwrap_or("the text ends early"),
                self.entries
            );
            quality.push(Quality::new(Code::Truncated, 1, message));
        }
        if self.damaged > 0 {
            let message = format!(
                "{} entries of the memory timeline were passed over: expected four numbers in each \
                 (or one list of sizes per time)",
                self.damaged
            );
            quality.push(Quality::new(Code::MalformedEvents, self.damaged, message));
        }
        Ok(Trace {
            payload: Some(Payload::MemoryTimeline(self.timeline)),
            elements: self.entries,
            quality,
            ..Trace::default()
        })
    }
}

fn integer(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    text.parse().ok().or_else(|| text.parse::<f64>().ok().filter(|v| v.is_finite()).map(|v| v as i64))
}

/// Nothing that would overflow later.
fn limited(time: i64) -> Ns {
    Ns(time.clamp(-Ns::LIMIT.0, Ns::LIMIT.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn try_read(text: &str, cut: usize) -> Result<Trace, ReadError> {
        let mut reader = Reader::default();
        for piece in text.as_bytes().chunks(cut) {
            reader.take(piece);
        }
        reader.into_trace(text.len() as u64, None)
    }

    fn read(text: &str, cut: usize) -> Trace {
        try_read(text, cut).unwrap()
    }

    fn changes(trace: &Trace) -> Vec<(i64, i64, &'static str)> {
        let Some(Payload::MemoryTimeline(timeline)) = &trace.payload else { panic!("{:?}", trace.payload) };
        timeline.changes.iter().map(|c| (c.time.0, c.bytes, c.category.label())).collect()
    }

    #[test]
    fn a_list_of_lists_of_numbers_is_one() {
        assert!(is_one(b"[[-1, 1, 5, 7]]") && is_one(b"\xef\xbb\xbf [\n [1"));
        for other in ["[", "[]", "[[\"a\"]]", "[{\"ph\": \"X\"}]", "{\"a\": [[1]]}", "[1, 2]"] {
            assert!(!is_one(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn raw_entries_are_changes_however_the_text_is_cut() {
        let text = "[[-1, 1, 512, 0], [1696966047096061874, 2, 64, 4],\n[1696966047096061900, 4, -64, 4]]";
        let expected = [
            (-1, 512, "Parameter"),
            (1_696_966_047_096_061_874, 64, "Activation"),
            (1_696_966_047_096_061_900, -64, "Activation"),
        ];
        for cut in 1..text.len() {
            let trace = read(text, cut);
            assert_eq!(changes(&trace), expected);
            assert_eq!((trace.elements, trace.quality.len()), (3, 0));
        }
        assert_eq!(changes(&read("[[7, 2, 5, 99]]", 3)), [(7, 5, "Unknown")]);
    }

    #[test]
    fn sizes_over_time_become_changes() {
        let text = "[[1696966047096061, 1696966047096070, 1696966047096090], [[0,5,0,0,0,0,0,0,0], \
                    [0,5,0,0,0,9,0,0,0], [0,5,0,0,0,2,0,0,1]]]";
        let expected = [
            (1_696_966_047_096_061_000, 5, "Parameter"),
            (1_696_966_047_096_070_000, 9, "Activation"),
            (1_696_966_047_096_090_000, -7, "Activation"),
            (1_696_966_047_096_090_000, 1, "Unknown"),
        ];
        for cut in 1..text.len() {
            assert_eq!(changes(&read(text, cut)), expected);
        }
        assert_eq!(read(text, 9).elements, 3);
    }

    #[test]
    fn damage_costs_the_damaged_entries_only() {
        let trace = read("[[1, 2, 5, 0], [2, 2, null, 0], [3, 2, 6], [4, 2, 7, 1]]", 5);
        assert_eq!(changes(&trace), [(1, 5, "Parameter"), (4, 7, "Optimizer state")]);
        assert_eq!((trace.quality[0].code, trace.quality[0].count), (Code::MalformedEvents, 2));
        let cut = read("[[1, 2, 5, 0], [2, 2, 6, 0], [3, 2", 5);
        assert_eq!(changes(&cut).len(), 2);
        assert_eq!(cut.quality[0].code, Code::Truncated);
        assert_eq!(changes(&read("[[9223372036854775807, 1, 9e99, 0]]", 5))[0].0, Ns::LIMIT.0);
        assert!(try_read("[[1,2,3,4]]]]][[", 1).is_ok());
        for text in ["", "]]]]", "[[[[[[1", "[[1],[[1]],[[[2]]]]", "[[1,2],[3,[4]]", "[[true, 1, 2, 3]]"] {
            assert!(try_read(text, 1).is_err(), "{text}");
        }
    }
}
