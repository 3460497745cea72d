//! What a GPU trace is in memory: columns of events, interned names, links and interval algebra.
