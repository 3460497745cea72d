//! Where to go on after damage in the event array: at the next place that is an event beyond doubt.

use super::cursor::{Cursor, Stop};
use super::event::EventReader;

/// An event found after damage must end within this; a longer one is passed over with the damage.
const WINDOW: usize = 1 << 20;
/// After this many candidates that never end, the text is given up: it is not worth quadratic time.
const PATIENCE: u32 = 64;

/// The next `{` behind a comma, further on than the cursor, that begins a whole object with a phase.
pub(super) fn next_event(reader: &mut EventReader, cursor: &Cursor<'_>, last: bool) -> Option<usize> {
    let mut endless = 0;
    let mut after_comma = false;
    let text = cursor.rest();
    for (i, byte) in text.iter().enumerate().skip(1) {
        match byte {
            b',' => after_comma = true,
            b'{' if after_comma => {
                after_comma = false;
                let start = cursor.pos + i;
                let mut candidate = cursor.rewound(start);
                match reader.parse(&mut candidate) {
                    Ok(true) if candidate.pos - start <= WINDOW => return Some(start),
                    Err(Stop::Incomplete) if !last && text.len() - i < WINDOW => return Some(start),
                    Err(Stop::Incomplete) => endless += 1,
                    _ => {}
                }
                if endless > PATIENCE {
                    return None;
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => after_comma = false,
        }
    }
    None
}
