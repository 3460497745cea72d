//! Text in chunks: read and decompressed piece by piece, on a thread of its own if that pays, and never whole
//! in memory.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Scope;

use crate::chrome::PADDING;

/// Room before the text of a chunk, for the unfinished end of the one before it.
const HEADROOM: usize = 64 << 10;
/// Chunks that a decompressing thread may be ahead: enough that neither side waits for the other's hiccups.
const AHEAD: usize = 24;

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

    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    pub(crate) fn text(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }
}

/// A text on its way in. An error that comes after some text is kept for the next time, so that neither is lost.
pub(crate) struct Source<'r> {
    text: Box<dyn Read + 'r>,
    failed: Option<io::Error>,
}

impl<'r> Source<'r> {
    pub(crate) fn new(text: Box<dyn Read + 'r>) -> Source<'r> {
        Source { text, failed: None }
    }

    /// Fills a chunk as far as the text goes.
    fn fill(&mut self, chunk: &mut Chunk) -> io::Result<()> {
        (chunk.start, chunk.end) = (HEADROOM, HEADROOM);
        let limit = chunk.buffer.len() - PADDING;
        while chunk.end < limit && self.failed.is_none() {
            match self.text.read(&mut chunk.buffer[chunk.end..limit]) {
                Ok(0) => break,
                Ok(n) => chunk.end += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.failed = Some(error),
            }
        }
        chunk.buffer[chunk.end..chunk.end + PADDING].fill(0);
        match self.failed.take_if(|_| chunk.is_empty()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// The end of the text so far that is not yet a whole event or value.
#[derive(Debug, Default)]
pub(crate) struct Unfinished {
    text: Vec<u8>,
    /// How long it must become before it is worth another try. Doubling keeps a very long event from being
    /// read from its start again and again.
    worth_trying: usize,
}

impl Unfinished {
    /// Keeps what begins at `from`, after all before it was taken in.
    pub(crate) fn keep(&mut self, chunk: &Chunk, from: usize) {
        let nothing_was_whole = from == chunk.start;
        self.text.clear();
        self.text.extend_from_slice(&chunk.buffer[from..chunk.end]);
        self.worth_trying = if nothing_was_whole { self.text.len().saturating_mul(2) } else { 0 };
    }

    /// Puts the unfinished text in front of the chunk's, and answers whether the whole is worth reading now. If
    /// not, the chunk's text has been taken over instead: text that is long already grows in place and is not
    /// copied again for every chunk.
    pub(crate) fn joins(&mut self, chunk: &mut Chunk, last: bool) -> bool {
        if self.text.len() <= chunk.start
            && (last || self.text.len() + chunk.text().len() >= self.worth_trying)
        {
            let start = chunk.start - self.text.len();
            chunk.buffer[start..chunk.start].copy_from_slice(&self.text);
            chunk.start = start;
            self.text.clear();
            return true;
        }
        self.text.extend_from_slice(chunk.text());
        if !last && self.text.len() < self.worth_trying {
            return false;
        }
        let mut buffer = std::mem::take(&mut self.text);
        let end = buffer.len();
        buffer.resize(end + PADDING, 0);
        *chunk = Chunk { buffer, start: 0, end };
        true
    }
}

/// Where chunks come from.
pub(crate) trait Chunks {
    /// The next chunk; an empty one at the end. `used` may be given back to be filled again.
    fn next(&mut self, used: Option<Chunk>) -> io::Result<Chunk>;
}

/// Reads and decompresses on the calling thread.
pub(crate) struct Inline<'r> {
    pub(crate) source: Source<'r>,
    pub(crate) chunk_bytes: usize,
}

impl Chunks for Inline<'_> {
    fn next(&mut self, used: Option<Chunk>) -> io::Result<Chunk> {
        let mut chunk = reusable(used, self.chunk_bytes);
        self.source.fill(&mut chunk)?;
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
                Ok(text) => Source::new(text),
                // A reader that has gone away has no use for the error.
                Err(error) => return drop(send_filled.send(Err(error))),
            };
            loop {
                let mut chunk = reusable(take_used.try_recv().ok(), chunk_bytes);
                let result = source.fill(&mut chunk);
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
