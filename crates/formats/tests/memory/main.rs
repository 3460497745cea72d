//! A test binary of its own: how much memory a process ever had is known only for the process as a whole.
#![cfg(target_os = "linux")]

use std::io::Read;

use gpuscope_formats::ReadOptions;
use gpuscope_formats::rewrite::{Editor, Element, rewrite};

/// An event again and again, each with a name of its own, for as long as asked.
struct Endless {
    left: u64,
    number: u64,
    text: Vec<u8>,
    at: usize,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.text.len() {
            if self.left == 0 {
                return Ok(0);
            }
            self.number += 1;
            let event = format!(
                "{{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op {n}\", \"pid\": 1, \"tid\": 2, \"ts\": {n}.5, \"dur\": 1, \
                 \"args\": {{\"External id\": {n}, \"Call stack\": \"train.py({n}): step {filler}\"}}}},\n",
                n = self.number,
                filler = "x".repeat(400),
            );
            self.left = self.left.saturating_sub(event.len() as u64);
            self.text = event.into_bytes();
            self.at = 0;
        }
        let n = (self.text.len() - self.at).min(buffer.len());
        buffer[..n].copy_from_slice(&self.text[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

struct Marking;

impl Editor for Marking {
    fn element(&mut self, element: &mut Element<'_>) {
        if element.index.is_multiple_of(2) {
            element.add_args("\"critical\":1");
        }
    }
}

/// The most memory that this process ever had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn half_a_gigabyte_is_rewritten_in_a_few_dozen_megabytes() {
    const TEXT: u64 = 500 << 20;
    let before = peak();
    let input = Endless { left: TEXT, number: 0, text: b"[".to_vec(), at: 0 };
    let done = rewrite(input, ReadOptions::default(), &mut std::io::sink(), &mut Marking).unwrap();
    assert!(done.text_bytes >= TEXT && done.elements > 800_000, "{done:?}");
    let grown = peak() - before;
    // The reader's texts of 65,536 events are the most that is ever held.
    assert!(grown < 96 << 20, "{} MB", grown >> 20);
}
