use gpuscope_figure::{Arrangement, Data, Pictured};
use gpuscope_table::Values;

use super::*;
use crate::data::Timing;

/// The table of the document that the dashboards come from.
fn overview() -> Overview {
    let rows = [
        ("gpt_nano", 1.32, 0.11, 193_731.0, [3, 3, 48]),
        ("gpt_mini", 11.50, 0.72, 22_300.0, [6, 6, 192]),
        ("gpt_tile_small", 1.50, 0.09, 171_100.0, [4, 4, 64]),
    ];
    let mut measured = Measured::default();
    measured.metadata.insert("gpu_name".to_owned(), "NVIDIA GB10".into());
    measured.metadata.insert("batch_size".to_owned(), 4.into());
    measured.metadata.insert("flags".to_owned(), serde_json::json!({"tf32": true}));
    for (name, mean, std, rate, [layers, heads, width]) in rows {
        let config = serde_json::json!({"n_layer": layers, "n_head": heads, "n_embd": width});
        let timing = Timing {
            mean,
            std: Some(std),
            min: Some(mean * 0.9),
            median: Some(mean),
            p95: Some(mean * 1.2),
            p99: Some(mean * 1.3),
            ..Timing::default()
        };
        let benchmark = Benchmark {
            config: config.as_object().cloned().unwrap_or_default(),
            timing,
            throughput_tokens_per_sec: Some(rate),
            ..Benchmark::default()
        };
        measured.benchmarks.insert(name.to_owned(), benchmark);
    }
    Overview::of(measured)
}

#[test]
fn the_best_are_named_with_their_numbers() {
    let best = overview().best();
    assert_eq!(
        (best[0].what, best[0].to_string().as_str()),
        ("Fastest config", "gpt_nano (1.320 ms, 194 k tokens/s)")
    );
    assert_eq!(best[1].what, "Best tile config");
    assert!(best[1].to_string().starts_with("gpt_tile_small (1.500 ms"));
}

#[test]
fn the_table_reads_as_the_document_has_it() {
    let tables = overview().tables();
    let texts = |name: &str| match &tables[0].column(name).unwrap().values {
        Values::Text(texts) => texts.iter().flatten().cloned().collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(texts("latency"), ["1.32 ± 0.11 ms", "11.50 ± 0.72 ms", "1.50 ± 0.09 ms"]);
    assert_eq!(texts("config")[0], "3L, 3H, 48D");
    assert_eq!(tables[0].title, "Benchmarks (batch 4)");
    assert_eq!(overview().facts(), [("GPU", "NVIDIA GB10".to_owned()), ("Flags", "tf32=true".to_owned())]);
}

#[test]
fn there_are_the_five_charts_and_more_when_more_is_measured() {
    let mut overview = overview();
    let names = |overview: &Overview| overview.figures().iter().map(|figure| figure.name).collect::<Vec<_>>();
    assert_eq!(names(&overview), ["latency", "throughput", "percentiles", "architecture", "efficiency"]);
    let figures = overview.figures();
    assert!(
        matches!(&figures[0].panels[0].series[0].data, Data::Bars { reach, .. } if (reach[0].0 - 1.21e6).abs() < 1.0)
    );
    assert_eq!((figures[3].panels.len(), figures[3].arrangement), (3, Arrangement::SideBySide));
    assert_eq!(figures[2].panels[0].series.len(), 3, "a line for each");
    overview.measured.benchmarks["gpt_nano"].peak_memory_bytes = Some(1e9);
    assert!(names(&overview).contains(&"memory"));
}
