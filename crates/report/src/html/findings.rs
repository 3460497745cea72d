//! What to do, as a list: each finding with its gain, what shows it, the advice, and the command that shows more.

use std::io::{self, Write};

use gpuscope_table::Table;

use super::escaped;
use crate::page::Page;
use crate::text;

pub(super) const STYLE: &str = "\
ol.findings{padding-left:1.4rem}ol.findings>li{margin:0 0 1.1rem;padding-left:.3rem}\
ol.findings>li::marker{font-weight:600}ol.findings p{margin:.15rem 0;overflow-wrap:anywhere}\
.gain{display:inline-block;margin-left:.5rem;padding:0 .5rem;border-radius:.7rem;background:var(--bar);\
font-variant-numeric:tabular-nums;white-space:nowrap}\
code{font:.87em ui-monospace,monospace;background:var(--head);padding:.1rem .35rem;border-radius:.25rem}";

/// Whether a table holds findings: what is slow, what to do about it, and where to look.
pub(super) fn are_in(table: &Table) -> bool {
    ["finding", "gain_ns", "advice", "command"].iter().all(|name| table.column(name).is_some())
}

pub(super) fn write(table: &Table, page: &Page<'_>, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"<ol class=\"findings\">\n")?;
    for row in 0..table.rows() {
        let said = |name: &str| {
            let cell = table.column(name).map(|column| text::cell(column, row));
            cell.filter(|cell| cell != text::MISSING).map(|cell| escaped(&cell))
        };
        let (id, finding) = (said("id").unwrap_or_default(), said("finding").unwrap_or_default());
        write!(out, "<li data-finding=\"{id}\"><b>{finding}</b>")?;
        if let Some((time, pct)) = said("gain_ns").zip(said("gain_pct")) {
            write!(out, " <span class=\"gain\">saves {time} · {pct} %</span>")?;
        }
        if let Some(advice) = said("advice") {
            write!(out, "\n<p>{advice}</p>")?;
        }
        if let Some(evidence) = said("evidence") {
            write!(out, "\n<p class=\"soft\">{evidence}</p>")?;
        }
        if let Some(confidence) = said("confidence") {
            let caveat = said("caveat").map(|caveat| format!(": {caveat}")).unwrap_or_default();
            write!(out, "\n<p class=\"soft\">confidence {confidence}{caveat}</p>")?;
        }
        if let Some(command) = said("command") {
            write!(out, "\n<p><code>{command} {}</code></p>", escaped(&inputs(page)))?;
        }
        out.write_all(b"</li>\n")?;
    }
    out.write_all(b"</ol>\n")
}

/// What to give the command: the file, or the folder they all lie in.
fn inputs(page: &Page<'_>) -> String {
    let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    match page.inputs.as_slice() {
        [only] => text::one_line(&only.path),
        [first, rest @ ..] => match folder(&first.path) {
            Some(in_all) if rest.iter().all(|input| folder(&input.path).as_ref() == Some(&in_all)) => {
                text::one_line(&in_all)
            }
            _ => "TRACES".to_owned(),
        },
        [] => "TRACES".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use gpuscope_table::Unit;

    use super::*;
    use crate::page::Input;

    fn drawn(paths: &[&str]) -> String {
        let rows = ["<b>slow</b>"];
        let table = Table::of("findings", "What to do", &rows)
            .text("finding", "", |row| (*row).to_owned())
            .int("gain_ns", Unit::Ns, "", |_| 5_000_000)
            .float("gain_pct", Unit::Percent, "", |_| 12.5)
            .text("advice", "", |_| "fuse".to_owned())
            .text("command", "", |_| "gpuscope idle".to_owned())
            .build();
        let input = |path: &&str| Input {
            path: (*path).to_owned(),
            format: "chrome".to_owned(),
            rank: 0,
            events: 1,
            bytes: 1,
        };
        let tables = [table];
        let inputs = paths.iter().map(input).collect();
        let page = Page { command: "analyze", inputs, quality: &[], tables: &tables };
        let mut out = Vec::new();
        crate::html::write(&page, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn findings_are_a_list_with_gain_advice_and_command() {
        let page = drawn(&["a.json"]);
        assert!(
            page.contains(
                "<b>&lt;b&gt;slow&lt;/b&gt;</b> <span class=\"gain\">saves 5.000 ms · 12.5 %</span>"
            )
        );
        assert!(page.contains("<p>fuse</p>") && page.contains("<code>gpuscope idle a.json</code>"));
    }

    #[test]
    fn the_command_takes_the_folder_all_traces_are_in() {
        assert!(drawn(&["job/a.json", "job/b.json"]).contains("<code>gpuscope idle job</code>"));
        assert!(drawn(&["job/a.json", "b.json"]).contains("<code>gpuscope idle TRACES</code>"));
    }
}
