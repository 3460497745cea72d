//! Any cut of the bytes gives the same trace.

use gpuscope_formats::{ReadOptions, read};
use gpuscope_testkit::Plan;
use proptest::prelude::*;

use crate::describe::{assert_same, load};
use crate::differential::generated;

fn in_chunks_of(text: &[u8], chunk_bytes: usize) -> gpuscope_trace::Trace {
    read(text, ReadOptions { chunk_bytes, ..ReadOptions::default() }).unwrap().into_trace()
}

#[test]
fn every_small_chunk_size() {
    let text = generated(&Plan::small().with_events(150));
    let whole = load(&text).unwrap().into_trace();
    for chunk_bytes in (1..80).chain([97, 128, 255, 256, 257, 1000, 4096, 65_537]) {
        assert_same(&format!("chunks of {chunk_bytes}"), &in_chunks_of(&text, chunk_bytes), &whole);
    }
}

#[test]
fn an_event_longer_than_many_chunks() {
    let name = "x".repeat(10 << 20);
    let text = format!(
        r#"{{"traceEvents": [{{"ph": "X", "name": "{name}", "ts": 1, "dur": 2}}, {{"ph": "X", "name": "b", "ts": 5, "dur": 1}}]}}"#
    );
    let trace = load(text.as_bytes()).unwrap().into_trace();
    assert_eq!((trace.len(), trace.name(0).len(), trace.name(1)), (2, 10 << 20, "b"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_chunk_size_and_any_cut_end(seed in 0u64..1000, chunk_bytes in 1usize..3000, cut in 0.0f64..1.0) {
        let text = generated(&Plan::small().seed(seed).with_events(100));
        let text = &text[..(text.len() as f64 * cut) as usize];
        let options = ReadOptions { chunk_bytes, ..ReadOptions::default() };
        match (load(text), read(text, options)) {
            (Ok(whole), Ok(chunked)) => {
                assert_same("cut", &chunked.traces[0], &whole.traces[0]);
                prop_assert_eq!(&chunked.traces[0].quality, &whole.traces[0].quality);
            }
            (Err(_), Err(_)) => {}
            (whole, chunked) => prop_assert!(false, "{:?} but {:?}", whole.is_ok(), chunked.is_ok()),
        }
    }
}
