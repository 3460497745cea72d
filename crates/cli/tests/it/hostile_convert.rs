//! Traces that mean harm to whoever converts them: what comes out is JSON, in bounded time, and tells no secrets.

use std::time::Instant;

use serde_json::Value;

use crate::support::Folder;

#[test]
fn nesting_has_an_end() {
    let folder = Folder::new();
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let objects = format!("{}1{}", r#"{"pg_config":"#.repeat(100_000), "}".repeat(100_000));
    let event = r#"{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1,"pid":0,"tid":7}"#;
    let texts = [
        format!(r#"{{"distributedInfo":{{x}},"traceEvents":[{event}]}}"#),
        format!(r#"{{"distributedInfo":{{"pg_config":{}}},"traceEvents":[{event}]}}"#, deep(100_000)),
        format!(r#"{{"distributedInfo":{objects},"traceEvents":[{event}]}}"#),
        format!(
            r#"{{"traceEvents":[{event},{{"ph":"X","ts":3,"dur":1,"args":{{"a":{}}}}}]}}"#,
            deep(200_000)
        ),
        format!(r#"{{"traceEvents":[{event},{}],"x":{}}}"#, deep(100_000), deep(100_000)),
        format!(r#"{{"distributedInfo":{}{event}"#, "[{".repeat(100_000)),
    ];
    for (i, text) in texts.iter().enumerate() {
        folder.write("a.json", text);
        for flags in [&[][..], &["--anonymize"]] {
            let begun = Instant::now();
            let ran = folder.run(&[&["convert", "@a.json", "-o", "@b.json", "--json"], flags].concat());
            assert!(begun.elapsed().as_secs() < 10, "text {i}: {:?}", begun.elapsed());
            if i == 5 {
                assert_eq!(ran.exit, 3, "{}", ran.err);
                continue;
            }
            assert_eq!(ran.exit, 0, "text {i}: {}", ran.err);
            assert_eq!(
                ran.codes().contains(&"truncated_lists".to_owned()),
                i > 0,
                "text {i}: {:?}",
                ran.codes()
            );
            assert!(serde_json::from_str::<Value>(&folder.read("b.json")).is_ok(), "text {i}");
        }
    }
    let ran = folder.run(&["check", "@a.json", "--json"]);
    assert_eq!(ran.exit, 3, "{}", ran.err);
}
