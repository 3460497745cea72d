//! One module per question about a trace.
