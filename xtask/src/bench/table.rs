//! The table of a run.

use super::cases::{Case, Tool};
use super::inputs::Input;

const HEAD: &str = "\
| input | tool | CPU s | wall s | peak RSS MB | GB/s | × bare scan | × gpuscope |
|---|---|---:|---:|---:|---:|---:|---:|
";

pub(super) fn markdown(cases: &[Case], inputs: &[Input]) -> String {
    let mut text = HEAD.to_owned();
    for case in cases {
        let input = &inputs[case.input];
        let name = format!("{}{}", input.label, if case.gz { ", gz" } else { "" });
        let cells = match (case.cost, &case.fault) {
            (Some(cost), _) => {
                let rss = if case.tool.is_limit() {
                    "–".to_owned()
                } else {
                    format!("{:.0}", cost.rss_bytes as f64 / 1e6)
                };
                let rate = input.bytes as f64 / cost.cpu_s / 1e9;
                let scan = ratio(cost.cpu_s, cpu(cases, case.input, false, Tool::Scan));
                let own = ratio(cost.cpu_s, cpu(cases, case.input, case.gz, Tool::Breakdown));
                format!("{:.3} | {:.3} | {rss} | {rate:.3} | {scan} | {own}", cost.cpu_s, cost.wall_s)
            }
            (None, fault) => {
                format!("{} | – | – | – | – | –", if fault.is_some() { "failed" } else { "not run" })
            }
        };
        text.push_str(&["| ", &name, " | ", case.tool.name(), " | ", &cells, " |\n"].concat());
    }
    text
}

fn ratio(value: f64, to: Option<f64>) -> String {
    to.map_or_else(
        || "–".to_owned(),
        |to| if value / to < 10.0 { format!("{:.2}", value / to) } else { format!("{:.0}", value / to) },
    )
}

/// CPU seconds of a tool on an input, if it was measured.
fn cpu(cases: &[Case], input: usize, gz: bool, tool: Tool) -> Option<f64> {
    let case = cases.iter().find(|c| (c.input, c.gz, c.tool) == (input, gz, tool))?;
    Some(case.cost?.cpu_s)
}

#[cfg(test)]
mod tests {
    use super::super::cases::{Tool, case, some_input};
    use super::markdown;

    #[test]
    fn ratios_are_within_one_input() {
        let inputs = [some_input("a", 1_000_000_000), some_input("b", 500_000_000)];
        let mut cases = vec![
            case(0, false, Tool::Breakdown, 0.5, 0.4, 80_000_000),
            case(0, true, Tool::Breakdown, 1.0, 0.7, 80_000_000),
            case(0, false, Tool::Scan, 0.2, 0.2, 0),
            case(0, false, Tool::JsonLoads, 20.0, 21.0, 2_000_000_000),
            case(1, false, Tool::Breakdown, 0.25, 0.2, 60_000_000),
        ];
        cases[4].fault = Some("no".to_owned());
        cases[4].cost = None;
        let text = markdown(&cases, &inputs);
        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(rows[0], "| a | gpuscope breakdown | 0.500 | 0.400 | 80 | 2.000 | 2.50 | 1.00 |");
        assert_eq!(rows[1], "| a, gz | gpuscope breakdown | 1.000 | 0.700 | 80 | 1.000 | 5.00 | 1.00 |");
        assert_eq!(rows[2], "| a | limit: bare scan | 0.200 | 0.200 | – | 5.000 | 1.00 | 0.40 |");
        assert_eq!(rows[3], "| a | Python json.loads | 20.000 | 21.000 | 2000 | 0.050 | 100 | 40 |");
        assert_eq!(rows[4], "| b | gpuscope breakdown | failed | – | – | – | – | – |");
    }
}
