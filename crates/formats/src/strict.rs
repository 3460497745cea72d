//! The same reading by a strict JSON parser: slow, plain, and by another road. It exists to hold the scanner to
//! it: whatever text this reader accepts, the scanner must read to the same trace.

use gpuscope_trace::{Arg, ArgType, Builder, Class, Id, Ns, Phase, Record, StrId, Trace};
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The trace in a text, or `None` if the text is not strictly JSON or no trace.
pub fn read(text: &[u8]) -> Option<Trace> {
    let mut reader = Strict::default();
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    DocumentSeed(&mut reader).deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    (reader.saw_event_array || reader.saw_event).then(|| {
        reader.builder.mark_streams(crate::chrome::stream_of);
        reader.builder.finish()
    })
}

#[derive(Default)]
struct Strict {
    builder: Builder,
    saw_event_array: bool,
    saw_event: bool,
}

struct DocumentSeed<'r>(&'r mut Strict);
struct EventsSeed<'r>(&'r mut Strict);

impl<'de> DeserializeSeed<'de> for DocumentSeed<'_> {
    type Value = ();
    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DocumentSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a trace")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "traceEvents" {
                self.0.saw_event_array = true;
                map.next_value_seed(EventsSeed(self.0))?;
            } else {
                map.next_value::<&RawValue>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        EventsSeed(self.0).visit_seq(seq)
    }
}

impl<'de> DeserializeSeed<'de> for EventsSeed<'_> {
    type Value = ();
    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for EventsSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(element) = seq.next_element::<&RawValue>()? {
            self.0.element(element.get()).ok_or_else(|| A::Error::custom("a text that cannot be read"))?;
        }
        Ok(())
    }
}

/// The entries of an object in their order, duplicates and all.
struct Entries<'t>(Vec<(String, &'t RawValue)>);

impl<'de> serde::Deserialize<'de> for Entries<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Entries<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(V)
    }
}

/// A value that may be a string.
enum Text {
    Is(String),
    /// Some other value.
    IsNot,
}

impl Text {
    fn map_or<T>(self, other: T, text: impl FnOnce(&str) -> T) -> T {
        match self {
            Text::Is(string) => text(&string),
            Text::IsNot => other,
        }
    }
}

/// `None` if the value is a string that strict JSON cannot hold (half a surrogate pair).
fn string(raw: &str) -> Option<Text> {
    if raw.starts_with('"') { serde_json::from_str(raw).ok().map(Text::Is) } else { Some(Text::IsNot) }
}

/// A number's own text, or that of a string that may hold one.
fn number_text(raw: &str) -> &str {
    match raw.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(text) if text.contains('\\') => "",
        Some(text) => text,
        None => raw,
    }
}

impl Strict {
    fn intern(&mut self, text: &str) -> StrId {
        self.builder.strings().intern(text.as_bytes())
    }

    fn id(&mut self, raw: &str) -> Option<Id> {
        Some(match string(raw)? {
            Text::Is(text) => Id::Text(self.intern(&text)),
            Text::IsNot => integer(raw).map_or(Id::Absent, Id::Int),
        })
    }

    fn element(&mut self, raw: &str) -> Option<()> {
        let Some(entries) = object(raw) else {
            self.builder.skip_element();
            return Some(());
        };
        let mut record = Record::default();
        let mut phase = None;
        let mut category = StrId::EMPTY;
        let mut args: Option<Entries<'_>> = None;
        for (key, value) in &entries.0 {
            let value = value.get();
            match key.as_str() {
                "ph" => phase = string(value)?.map_or(None, |text| Some(Phase::of(text.as_bytes()))),
                "cat" => category = string(value)?.map_or(StrId::EMPTY, |text| self.intern(text)),
                "name" => record.name = string(value)?.map_or(StrId::EMPTY, |text| self.intern(text)),
                "pid" => record.pid = self.id(value)?,
                "tid" => record.tid = self.id(value)?,
                "id" => record.flow_id = self.id(value)?,
                "ts" => record.start = shifted(number_text(value), 3).map(Ns),
                "dur" => record.dur = shifted(number_text(value), 3).map(Ns),
                "args" => {
                    record.clear_args();
                    args = object(value);
                    for (key, value) in args.iter().flat_map(|args| &args.0) {
                        if let Some(arg) = Arg::from_key(key.as_bytes()) {
                            self.arg(&mut record, arg, value.get())?;
                        }
                    }
                }
                _ => {}
            }
        }
        record.tag = self.builder.tag(phase.unwrap_or_default(), category);
        let class = self.builder.class(record.tag);
        if phase == Some(Phase::Counter) || matches!(class, Class::ProfilerRange | Class::Counter) {
            for (key, value) in args.iter().flat_map(|args| &args.0) {
                let value = value.get();
                if value.starts_with(|c: char| c == '-' || c.is_ascii_digit())
                    && let Some(number) = value.parse::<f64>().ok().filter(|number| number.is_finite())
                {
                    let name = self.intern(key);
                    record.readings.push((name, number));
                }
            }
        }
        if phase.is_some() {
            self.saw_event = true;
            self.builder.push(&record);
        } else {
            self.builder.skip_element_of(record.tag);
        }
        Some(())
    }

    fn arg(&mut self, record: &mut Record, arg: Arg, raw: &str) -> Option<()> {
        match arg.arg_type() {
            ArgType::Int => match integer(number_text(raw)) {
                Some(value) => record.set_int(arg, value),
                None => record.unset(arg),
            },
            ArgType::Float => {
                match number_text(raw).trim().parse::<f64>().ok().filter(|value| value.is_finite()) {
                    Some(value) => record.set_float(arg, value),
                    None => record.unset(arg),
                }
            }
            ArgType::Text => match string(raw)? {
                Text::Is(text) => record.set_text(arg, self.intern(&text)),
                Text::IsNot if raw == "null" => record.unset(arg),
                Text::IsNot => record.set_text(arg, self.intern(raw)),
            },
            ArgType::Id if arg == Arg::Device => record.device = self.id(raw)?,
            ArgType::Id => record.stream = self.id(raw)?,
        }
        Some(())
    }
}

fn object(raw: &str) -> Option<Entries<'_>> {
    raw.starts_with('{').then(|| serde_json::from_str(raw).ok()).flatten()
}

fn integer(text: &str) -> Option<i64> {
    let text = text.trim();
    text.parse::<i64>().ok().or_else(|| text.parse::<u64>().ok().map(|value| value as i64)).or_else(|| {
        let whole = shifted(text, 0)?;
        // An integer only if nothing is lost by it, three digits on as good as any.
        (whole.abs() < i64::MAX / 1000 && shifted(text, 3)? == whole * 1000).then_some(whole)
    })
}

/// Moves the decimal point of a number's text by `places` and rounds what is left half away from zero: by hand
/// on the digits, with none of the scanner's arithmetic.
fn shifted(text: &str, places: i64) -> Option<i64> {
    let text = text.trim();
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], i64::from(text[at + 1..].parse::<i32>().ok()?)),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let point = whole.len() as i64 + exponent + places;
    let stripped = digits.trim_start_matches('0');
    let point = point - (digits.len() - stripped.len()) as i64;
    if stripped.is_empty() || point < 0 {
        return Some(0);
    }
    if point > 30 {
        return Some(sign * i64::MAX);
    }
    let digit = |i: usize| stripped.as_bytes().get(i).map_or(0, |byte| i128::from(byte - b'0'));
    let mut value: i128 = (0..point as usize).fold(0, |value, i| value * 10 + digit(i));
    value += i128::from(digit(point as usize) >= 5);
    Some(sign * i64::try_from(value).unwrap_or(i64::MAX))
}
