//! Writes Chrome trace JSON in the line layout Kineto uses, without a value tree: a trace of ten gigabytes must not
//! need more memory than one of ten events.

use std::io::{self, Write};

use crate::event::Name;

const FLUSH_AT: usize = 1 << 18;

/// The categories of written elements; `None` is for metadata and markers, which have no category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    None,
    CpuOp,
    UserAnnotation,
    PythonFunction,
    CpuInstantEvent,
    CudaRuntime,
    Kernel,
    GpuMemcpy,
    GpuMemset,
    CudaSync,
    GpuUserAnnotation,
    Flow,
    ForwardBackward,
    Trace,
    Overhead,
}

const CATEGORIES: [Category; 15] = [
    Category::None,
    Category::CpuOp,
    Category::UserAnnotation,
    Category::PythonFunction,
    Category::CpuInstantEvent,
    Category::CudaRuntime,
    Category::Kernel,
    Category::GpuMemcpy,
    Category::GpuMemset,
    Category::CudaSync,
    Category::GpuUserAnnotation,
    Category::Flow,
    Category::ForwardBackward,
    Category::Trace,
    Category::Overhead,
];

impl Category {
    /// As written in `cat`.
    pub fn text(self) -> &'static str {
        match self {
            Category::None => "",
            Category::CpuOp => "cpu_op",
            Category::UserAnnotation => "user_annotation",
            Category::PythonFunction => "python_function",
            Category::CpuInstantEvent => "cpu_instant_event",
            Category::CudaRuntime => "cuda_runtime",
            Category::Kernel => "kernel",
            Category::GpuMemcpy => "gpu_memcpy",
            Category::GpuMemset => "gpu_memset",
            Category::CudaSync => "cuda_sync",
            Category::GpuUserAnnotation => "gpu_user_annotation",
            Category::Flow => "ac2g",
            Category::ForwardBackward => "fwdbwd",
            Category::Trace => "Trace",
            Category::Overhead => "overhead",
        }
    }
}

/// A streaming writer of one trace file.
pub struct ChromeWriter<'w> {
    out: &'w mut dyn Write,
    buffer: Vec<u8>,
    flushed: u64,
    elements: u64,
    counts: [u64; CATEGORIES.len()],
}

impl std::fmt::Debug for ChromeWriter<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ChromeWriter").field("elements", &self.elements).finish_non_exhaustive()
    }
}

impl<'w> ChromeWriter<'w> {
    pub fn new(out: &'w mut dyn Write) -> ChromeWriter<'w> {
        ChromeWriter {
            out,
            buffer: Vec::with_capacity(FLUSH_AT + (1 << 14)),
            flushed: 0,
            elements: 0,
            counts: [0; CATEGORIES.len()],
        }
    }

    /// Elements of `traceEvents` so far.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.flushed + self.buffer.len() as u64
    }

    /// Elements per category; those that do not occur are left out.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        CATEGORIES.iter().zip(self.counts).filter(|(_, count)| *count > 0).map(|(c, count)| (c.text(), count))
    }

    /// Verbatim text.
    #[inline]
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.buffer.extend_from_slice(text.as_bytes());
        self
    }

    /// A decimal integer.
    #[inline]
    pub fn int(&mut self, value: i64) -> &mut Self {
        if value < 0 {
            self.buffer.push(b'-');
        }
        self.digits(value.unsigned_abs());
        self
    }

    #[inline]
    fn digits(&mut self, mut value: u64) {
        let mut digits = [0_u8; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                break;
            }
        }
        self.buffer.extend_from_slice(&digits[at..]);
    }

    /// Nanoseconds as microseconds with exactly three decimals.
    #[inline]
    pub fn time(&mut self, ns: i64) -> &mut Self {
        if ns < 0 {
            self.buffer.push(b'-');
        }
        let ns = ns.unsigned_abs();
        self.digits(ns / 1000);
        let rest = (ns % 1000) as u16;
        let decimals = [b'0' + (rest / 100) as u8, b'0' + (rest / 10 % 10) as u8, b'0' + (rest % 10) as u8];
        self.buffer.push(b'.');
        self.buffer.extend_from_slice(&decimals);
        self
    }

    /// A number with a fraction, as C++ streams print it.
    pub fn float(&mut self, value: f64) -> &mut Self {
        // Writing to a vector cannot fail.
        let _ = write!(self.buffer, "{value}");
        self
    }

    #[inline]
    pub(crate) fn name(&mut self, name: Name) -> &mut Self {
        self.text(name.text);
        if let Some(number) = name.number {
            self.digits(u64::from(number));
        }
        self
    }

    /// Begins an element of the event array.
    #[inline]
    pub fn begin(&mut self, category: Category) -> &mut Self {
        self.text(if self.elements == 0 { "\n  {" } else { ",\n  {" });
        self.elements += 1;
        self.counts[category as usize] += 1;
        self
    }

    /// A duration event up to and including the brace that opens its `args`.
    #[inline]
    pub(crate) fn span(
        &mut self,
        category: Category,
        name: Name,
        place: (i64, i64),
        (start, end): (i64, i64),
    ) -> &mut Self {
        self.begin(category)
            .text("\n    \"ph\": \"X\", \"cat\": \"")
            .text(category.text())
            .text("\", \"name\": \"");
        self.name(name).text("\", \"pid\": ").int(place.0).text(", \"tid\": ").int(place.1);
        self.text(",\n    \"ts\": ").time(start).text(", \"dur\": ").time(end - start);
        self.text(",\n    \"args\": {\n      ")
    }

    /// Closes `args` and the element.
    #[inline]
    pub fn end_args(&mut self) -> &mut Self {
        self.text("\n    }\n  }")
    }

    /// One end of a flow.
    pub fn flow(
        &mut self,
        category: Category,
        starts: bool,
        id: i64,
        place: (i64, i64),
        at: i64,
    ) -> &mut Self {
        self.begin(category).text(if starts {
            "\n    \"ph\": \"s\", \"id\": "
        } else {
            "\n    \"ph\": \"f\", \"id\": "
        });
        self.int(id)
            .text(", \"pid\": ")
            .int(place.0)
            .text(", \"tid\": ")
            .int(place.1)
            .text(", \"ts\": ")
            .time(at);
        self.text(",\n    \"cat\": \"").text(category.text()).text("\", \"name\": \"").text(category.text());
        self.text(if starts { "\"\n  }" } else { "\", \"bp\": \"e\"\n  }" })
    }

    /// Passes the buffer on once it is full.
    #[inline]
    pub fn flush_if_full(&mut self) -> io::Result<()> {
        if self.buffer.len() >= FLUSH_AT { self.flush() } else { Ok(()) }
    }

    /// Passes the buffer on.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.flushed += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}
