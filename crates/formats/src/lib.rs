//! Readers for GPU trace files, one module per format.
