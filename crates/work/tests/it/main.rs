//! Work models on what real traces have.

#![expect(clippy::print_stderr, reason = "a skipped test says so")]

mod oracle;
