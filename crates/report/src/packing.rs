//! Columns of whole numbers after a JSON header, as the pages' scripts read them: each number in as many bytes of seven
//! bits as it needs.

use serde_json::Value;

pub(crate) struct Columns {
    pub(crate) bytes: Vec<u8>,
}

impl Columns {
    /// The length of the header, then the header.
    pub(crate) fn after(header: &Value) -> Columns {
        let header = header.to_string();
        let mut bytes = Vec::with_capacity(header.len() + 4);
        bytes.extend((header.len() as u32).to_le_bytes());
        bytes.extend(header.as_bytes());
        Columns { bytes }
    }

    pub(crate) fn put(&mut self, mut value: u64) {
        while value >= 128 {
            self.bytes.push(value as u8 | 128);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// Small numbers of either sign stay small: 0, -1, 1, -2, …
    pub(crate) fn put_signed(&mut self, value: i64) {
        self.put(((value << 1) ^ (value >> 63)) as u64);
    }
}
