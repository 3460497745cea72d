//! Streams of several compressed members, one text, each held to its checksum.
//!
//! What follows the last member, such as padding, is nobody's loss; it is read all the same, as the container around
//! may have a checksum of its own. So an error is always one of the text.

use std::io::{self, BufRead, Cursor, Read};

type Input<'r> = Box<dyn BufRead + 'r>;

#[cfg(not(feature = "isal"))]
pub(super) struct Gzip<'r> {
    member: Option<flate2::bufread::GzDecoder<Input<'r>>>,
}

#[cfg(not(feature = "isal"))]
impl<'r> Gzip<'r> {
    pub(super) fn new(input: Input<'r>) -> Gzip<'r> {
        Gzip { member: Some(flate2::bufread::GzDecoder::new(input)) }
    }
}

#[cfg(not(feature = "isal"))]
impl Read for Gzip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let bytes = member.read(buffer)?;
            if bytes > 0 || buffer.is_empty() {
                return Ok(bytes);
            }
            let rest = self.member.take().map(flate2::bufread::GzDecoder::into_inner);
            let next = rest.map(|rest| follows(rest, 2, |head| head == [0x1f, 0x8b])).transpose()?.flatten();
            self.member = next.map(flate2::bufread::GzDecoder::new);
        }
        Ok(0)
    }
}

pub(super) struct Zstd<'r> {
    frame: Option<zstd::stream::read::Decoder<'static, Input<'r>>>,
}

impl<'r> Zstd<'r> {
    pub(super) fn new(input: Input<'r>) -> io::Result<Zstd<'r>> {
        Ok(Zstd { frame: Some(zstd::stream::read::Decoder::with_buffer(input)?.single_frame()) })
    }
}

impl Read for Zstd<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Another frame, or one to be skipped.
        let is_frame =
            |head: &[u8]| matches!(head, [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18]);
        while let Some(frame) = &mut self.frame {
            let bytes = frame.read(buffer)?;
            if bytes > 0 || buffer.is_empty() {
                return Ok(bytes);
            }
            let rest = self.frame.take().map(zstd::stream::read::Decoder::finish);
            self.frame = match rest.map(|rest| follows(rest, 4, is_frame)).transpose()?.flatten() {
                Some(next) => Some(zstd::stream::read::Decoder::with_buffer(next)?.single_frame()),
                None => None,
            };
        }
        Ok(0)
    }
}

/// The input, if its next bytes begin another member; otherwise it is read to its end.
fn follows(
    mut input: Input<'_>,
    length: usize,
    begins: impl Fn(&[u8]) -> bool,
) -> io::Result<Option<Input<'_>>> {
    let ahead = input.fill_buf()?;
    if ahead.len() >= length {
        if begins(&ahead[..length]) {
            return Ok(Some(input));
        }
    } else if !ahead.is_empty() {
        // The bytes may go on behind the end of the buffer.
        let mut head = Vec::new();
        (&mut input).take(length as u64).read_to_end(&mut head)?;
        if begins(&head) {
            return Ok(Some(Box::new(Cursor::new(head).chain(input))));
        }
    }
    io::copy(&mut input, &mut io::sink())?;
    Ok(None)
}
