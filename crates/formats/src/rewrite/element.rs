//! One element on its way, and the editor that puts what an analysis found on top of a trace.

use std::borrow::Cow;
use std::io;
use std::ops::Range;

use gpuscope_trace::Phase;

use super::events::NewEvent;
use super::{Editor, members, unquoted};

/// One element of the event array, as an editor sees it.
#[derive(Debug)]
pub struct Element<'t> {
    /// Its place in the array: what `Trace::element` says of its row.
    pub index: u32,
    /// `None` for what is no event at all.
    pub phase: Option<Phase>,
    text: Cow<'t, [u8]>,
    dropped: bool,
}

impl<'t> Element<'t> {
    pub(crate) fn new(index: u32, phase: Option<Phase>, text: &'t [u8]) -> Element<'t> {
        Element { index, phase, text: Cow::Borrowed(text), dropped: false }
    }

    /// The JSON text, changed or not.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Leaves the element out.
    pub fn leave_out(&mut self) {
        self.dropped = true;
    }

    pub fn is_dropped(&self) -> bool {
        self.dropped
    }

    /// Puts another JSON text in its place.
    pub fn replace(&mut self, text: Vec<u8>) {
        self.text = Cow::Owned(text);
    }

    /// Adds members (`"critical":1`) to the arguments, which are made if there are none. Nothing happens to what
    /// is no object.
    pub fn add_args(&mut self, added: &str) {
        let Some(object) = members(&self.text) else { return };
        let args = object.iter().rev().find(|member| unquoted(&self.text[member.key.clone()]) == "args");
        let (place, new) = match args.map(|member| member.value.clone()) {
            Some(value) if self.text[value.start] == b'{' => {
                let end = value.end - 1;
                (end..end, joined(&self.text[value.start..end], added))
            }
            Some(value) => (value, format!("{{{added}}}")),
            None => {
                let Some(end) = self.text.iter().rposition(|byte| *byte == b'}') else { return };
                (end..end, joined(&self.text[..end], &format!("\"args\":{{{added}}}")))
            }
        };
        self.splice(place, new.as_bytes());
    }

    fn splice(&mut self, place: Range<usize>, new: &[u8]) {
        self.text.to_mut().splice(place, new.iter().copied());
    }
}

/// What to insert at the end of an object: with a comma unless the object is empty or ends in one.
fn joined(before: &[u8], added: &str) -> String {
    match before.trim_ascii_end().last() {
        Some(b'{' | b',') => added.to_owned(),
        _ => format!(",{added}"),
    }
}

/// What an analysis adds to a trace: arguments on some elements, and events of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overlay {
    /// Element index and the members to add to its arguments, by index.
    pub marks: Vec<(u32, Cow<'static, str>)>,
    pub events: Vec<NewEvent>,
    next: usize,
}

impl Overlay {
    pub fn new(mut marks: Vec<(u32, Cow<'static, str>)>, events: Vec<NewEvent>) -> Overlay {
        marks.sort_by_key(|(element, _)| *element);
        Overlay { marks, events, next: 0 }
    }
}

impl Editor for Overlay {
    fn element(&mut self, element: &mut Element<'_>) {
        // Elements come in order, though an editor before this one may have dropped some.
        while let Some((index, args)) = self.marks.get(self.next).filter(|(index, _)| *index <= element.index)
        {
            if *index == element.index {
                element.add_args(args);
            }
            self.next += 1;
        }
    }

    fn append(&mut self, add: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()> {
        self.events.iter().try_for_each(|event| add(&event.to_json()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_args(text: &str) -> String {
        let mut element = Element::new(0, Some(Phase::Complete), text.as_bytes());
        element.add_args("\"critical\":1");
        String::from_utf8(element.text().to_vec()).unwrap()
    }

    #[test]
    fn arguments_are_added_wherever_there_is_room() {
        for (before, after) in [
            (r#"{"args": {"a": "}"}, "ts": 1}"#, r#"{"args": {"a": "}","critical":1}, "ts": 1}"#),
            (r#"{"args": {}}"#, r#"{"args": {"critical":1}}"#),
            ("{\"args\": {\n  \"a\": 1,\n}}", "{\"args\": {\n  \"a\": 1,\n\"critical\":1}}"),
            (r#"{"ts": 1 }"#, r#"{"ts": 1 ,"args":{"critical":1}}"#),
            (r#"{"args": null}"#, r#"{"args": {"critical":1}}"#),
            (r#"{"args": {"a": 1}, "\u0061rgs": {}}"#, r#"{"args": {"a": 1}, "\u0061rgs": {"critical":1}}"#),
            ("{}", r#"{"args":{"critical":1}}"#),
            ("17", "17"),
        ] {
            assert_eq!(with_args(before), after);
        }
    }
}
