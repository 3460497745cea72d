//! Text in chunks: read and decompressed piece by piece, on a thread of its own if that pays, and never whole
//! in memory.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Scope;

use crate::chrome::PADDING;

/// Room before the text of a chunk, for the unfinished end of the one before it.
const HEADROOM: usize = 64 << 10;
/// Chunks that a decompressing thread may be ahead.
const AHEAD: usize = 4;

/// A buffer with text in `start..end` and zero bytes behind it.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) buffer: Vec<u8>,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Default for Chunk {
    fn default() -> Self {
        Chunk { buffer: vec![0; PADDING], start: 0, end: 0 }
    }
}

impl Chunk {
    fn of(bytes: usize) -> Chunk {
        Chunk { buffer: vec![0; HEADROOM + bytes.max(1) + PADDING], start: HEADROOM, end: HEADROOM }
    }

    /// Fills the chunk as far as the source gives; an error after some text comes with the next chunk.
    fn fill(&mut self, source: &mut dyn Read) -> io::Result<()> {
        (self.start, self.end) = (HEADROOM, HEADROOM);
        let limit = self.buffer.len() - PADDING;
        while self.end < limit {
            match source.read(&mut self.buffer[self.end..limit]) {
                Ok(0) => break,
                Ok(n) => self.end += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if self.end == self.start => return Err(error),
                // What is left of the error shows again at the next read.
                Err(_) => break,
            }
        }
        self.buffer[self.end..self.end + PADDING].fill(0);
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Puts the unfinished rest of the chunk before in front of this one.
    pub(crate) fn prepend(&mut self, rest: &[u8]) {
        if rest.len() > self.start {
            let mut longer = Vec::with_capacity(rest.len() + (self.end - self.start) + PADDING);
            longer.extend_from_slice(rest);
            longer.extend_from_slice(&self.buffer[self.start..self.end]);
            self.end = longer.len();
            longer.resize(self.end + PADDING, 0);
            (self.buffer, self.start) = (longer, 0);
        } else {
            self.start -= rest.len();
            self.buffer[self.start..self.start + rest.len()].copy_from_slice(rest);
        }
    }
}

/// Where chunks come from.
pub(crate) trait Chunks {
    /// The next chunk; an empty one at the end. `used` may be given back to be filled again.
    fn next(&mut self, used: Option<Chunk>) -> io::Result<Chunk>;
}

/// Reads and decompresses on the calling thread.
pub(crate) struct Inline<'r> {
    pub(crate) source: Box<dyn Read + 'r>,
    pub(crate) chunk_bytes: usize,
}

impl Chunks for Inline<'_> {
    fn next(&mut self, used: Option<Chunk>) -> io::Result<Chunk> {
        let mut chunk = reusable(used, self.chunk_bytes);
        chunk.fill(&mut self.source)?;
        Ok(chunk)
    }
}

/// Receives chunks that another thread reads and decompresses.
pub(crate) struct Pipelined {
    filled: Receiver<io::Result<Chunk>>,
    used: SyncSender<Chunk>,
}

impl Pipelined {
    /// `open` gives the text on the new thread.
    pub(crate) fn spawn<'scope>(
        scope: &'scope Scope<'scope, '_>,
        open: impl FnOnce() -> io::Result<Box<dyn Read + 'scope>> + Send + 'scope,
        chunk_bytes: usize,
    ) -> Pipelined {
        let (send_filled, filled) = sync_channel(AHEAD);
        let (used, take_used) = sync_channel::<Chunk>(AHEAD + 2);
        scope.spawn(move || {
            let mut source = match open() {
                Ok(source) => source,
                // A reader that has gone away has no use for the error.
                Err(error) => return drop(send_filled.send(Err(error))),
            };
            loop {
                let mut chunk = reusable(take_used.try_recv().ok(), chunk_bytes);
                let result = chunk.fill(&mut source);
                let done = result.is_err() || chunk.is_empty();
                // A reader that has gone away has no use for more.
                if send_filled.send(result.map(|()| chunk)).is_err() || done {
                    return;
                }
            }
        });
        Pipelined { filled, used }
    }
}

impl Chunks for Pipelined {
    fn next(&mut self, used: Option<Chunk>) -> io::Result<Chunk> {
        if let Some(chunk) = used {
            // Full or closed: then the chunk is simply dropped.
            let _ = self.used.try_send(chunk);
        }
        self.filled.recv().unwrap_or_else(|_| Ok(Chunk::default()))
    }
}

/// The chunk, unless it has grown for one long event: such a buffer is not kept.
fn reusable(used: Option<Chunk>, bytes: usize) -> Chunk {
    let whole = HEADROOM + bytes.max(1) + PADDING;
    used.filter(|chunk| chunk.buffer.len() == whole).unwrap_or_else(|| Chunk::of(bytes))
}
