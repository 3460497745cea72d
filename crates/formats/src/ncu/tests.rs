use super::*;

fn read(text: &str) -> Metrics {
    let mut parsed = page(text.as_bytes()).unwrap();
    match parsed.traces.remove(0).payload {
        Some(Payload::Metrics(metrics)) => metrics,
        other => panic!("{other:?}"),
    }
}

const DETAILS: &str = concat!(
    "==PROF== Connected to process 7\nloss 0.1\n",
    "\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"Section Name\",\"Metric Name\",",
    "\"Metric Unit\",\"Metric Value\",\"Rule Name\",\"Rule Type\",\"Rule Description\",\"Estimated Speedup\"\n",
    "\"0\",\"7\",\"mm(float *, int)\",\"(384, 1, 1)\",\"(9, 32, 1)\",\"0\",\"9.0\",\"Occupancy\",\"Waves\",\"\",\"1,024\"\n",
    "\"0\",\"7\",\"mm(float *, int)\",\"(384, 1, 1)\",\"(9, 32, 1)\",\"0\",\"9.0\",\"Occupancy\",\"\",\"\",\"\",\"Tail\",\"OPT\",",
    "\"A wave is \"\"short\"\".\",\"12.5\"\n",
    "==PROF== Disconnected from process 7\n",
    "\"1\",\"7\",\"copy()\",\"(1, 1, 1)\",\"(1, 1, 1)\",\"0\",\"9.0\",\"Launch\",\"Config\",\"\",\"n/a\"\n",
);

#[test]
fn details_have_a_row_for_each_metric_and_rule() {
    let metrics = read(DETAILS);
    let kernels: Vec<&str> = metrics.launches.iter().map(|launch| launch.kernel.as_str()).collect();
    assert_eq!(kernels, ["mm(float *, int)", "copy()"]);
    assert_eq!((metrics.launches[0].grid, metrics.launches[0].block), (Some([9, 32, 1]), Some([384, 1, 1])));
    assert_eq!(metrics.metrics[0].value, MetricValue::Int(1024));
    assert_eq!(metrics.metrics[1].value, MetricValue::Absent);
    let rule = &metrics.rules[0];
    assert_eq!((rule.sort.as_str(), rule.estimated_speedup_pct), ("OPT", Some(12.5)));
    assert_eq!(rule.description, "A wave is \"short\".");
}

#[test]
fn the_raw_page_has_a_column_for_each_metric_and_a_row_of_units() {
    let metrics = read(concat!(
        "\"ID\",\"Process ID\",\"Kernel Name\",\"Context\",\"dram__bytes.sum\",\"launch__cache\"\n",
        "\"\",\"\",\"\",\"\",\"Kbyte\",\"\"\n",
        "\"3\",\"7\",\"mm()\",\"1\",\"1,759,000.00\",\"CachePreferNone\"\n",
    ));
    assert_eq!(metrics.launches[0].id, 3);
    let told: Vec<_> =
        metrics.metrics.iter().map(|metric| (metric.name.as_str(), metric.unit.as_str())).collect();
    assert_eq!(told, [("dram__bytes.sum", "Kbyte"), ("launch__cache", "")]);
    assert_eq!(metrics.metrics[1].value, MetricValue::Text("CachePreferNone".to_owned()));
}

#[test]
fn a_summary_tells_least_most_and_mean() {
    let metrics = read(concat!(
        "\"Process ID\",\"Process Name\",\"Kernel Name\",\"Grid Size\",\"Invocations\",\"Section Name\",\"Metric Name\",",
        "\"Metric Unit\",\"Minimum\",\"Maximum\",\"Average\"\n",
        "\"7\",\"a\",\"mm()\",\"(1, 1, 1)\",\"2\",\"Launch\",\"Duration\",\"us\",\"1.0\",\"3.0\",\"2.0\"\n",
    ));
    let told: Vec<_> =
        metrics.metrics.iter().map(|metric| (metric.label.as_deref(), metric.value.number())).collect();
    assert_eq!(
        told,
        [(Some("minimum"), Some(1.0)), (Some("maximum"), Some(3.0)), (Some("average"), Some(2.0))]
    );
}

#[test]
fn a_page_cut_off_anywhere_is_read_as_far_as_it_goes() {
    let begins = DETAILS.find("\"ID\"").unwrap() + 20;
    for cut in begins..DETAILS.len() {
        if DETAILS.is_char_boundary(cut) {
            let metrics = read(&DETAILS[..cut]);
            assert!(metrics.launches.len() <= 2);
        }
    }
    assert!(page(b"no table at all\n").is_err());
}
