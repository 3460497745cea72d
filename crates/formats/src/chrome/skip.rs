//! Passes over one JSON value that comes in pieces, holding none of it.

#[derive(Debug, Default)]
pub(super) struct Skipper {
    depth: u32,
    in_string: bool,
    escaped: bool,
}

impl Skipper {
    /// Takes in text; answers how much of it belonged to the value once that has ended.
    pub(super) fn feed(&mut self, text: &[u8]) -> Option<usize> {
        for (i, byte) in text.iter().enumerate() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => continue,
                }
            } else {
                match byte {
                    b'"' => self.in_string = true,
                    b'[' | b'{' => self.depth += 1,
                    b']' | b'}' => self.depth = self.depth.saturating_sub(1),
                    _ => continue,
                }
            }
            if self.depth == 0 && !self.in_string {
                return Some(i + 1);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_cut_gives_the_same_end() {
        let text = br#"{"a]": [1, "x\"}", {"b": 2}], "c": {}} , next"#;
        let whole = Skipper::default().feed(text).unwrap();
        assert_eq!(&text[whole..], b" , next");
        for cut in 0..whole {
            let mut skipper = Skipper::default();
            assert_eq!(skipper.feed(&text[..cut]), None);
            assert_eq!(skipper.feed(&text[cut..]), Some(whole - cut));
        }
    }
}
