//! Builds traces with a known, planted truth.
