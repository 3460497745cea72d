//! What annotations that people write are called, where several readers of them have to agree.

/// An annotation with one of these in it, in whatever case, is around fetching the next batch.
pub const FETCHING: [&str; 8] = [
    "dataloader",
    "data_load",
    "data load",
    "load_data",
    "load_batch",
    "wait_for_batch",
    "next_batch",
    "get_batch",
];
