//! What to do, as a list: each finding with its gain, what shows it, the advice, and the command that shows more.

use std::io::{self, Write};

use gpuscope_analysis::dossier::DossierAnswer;
use gpuscope_analysis::findings::{Evidence, Finding};
use gpuscope_analysis::timeline::{DrawnRank, Picture, Track, TrackSort};
use gpuscope_table::Table;
use gpuscope_trace::Ns;

use super::escaped;
use crate::page::Page;
use crate::{key_numbers, text, units};

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

/// The first few findings of a report, each with the way to its evidence; the rest below a fold.
pub(super) fn list(
    dossier: &DossierAnswer,
    page: &Page<'_>,
    most: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let findings = &dossier.analyze.findings;
    let (first, rest) = findings.split_at(findings.len().min(most));
    out.write_all(b"<ol class=\"findings\">\n")?;
    for finding in first {
        write_finding(finding, dossier, page, out)?;
    }
    out.write_all(b"</ol>\n")?;
    if let Some(joint) = key_numbers::joint_gain(dossier) {
        writeln!(out, "<p>{joint}</p>")?;
    }
    if rest.is_empty() {
        return Ok(());
    }
    write!(
        out,
        "<details class=\"more\"><summary>{} more</summary>\n<ol class=\"findings\" start=\"{}\">\n",
        rest.len(),
        most + 1
    )?;
    for finding in rest {
        write_finding(finding, dossier, page, out)?;
    }
    out.write_all(b"</ol></details>\n")
}

fn write_finding(
    finding: &Finding,
    dossier: &DossierAnswer,
    page: &Page<'_>,
    out: &mut impl Write,
) -> io::Result<()> {
    write!(out, "<li data-finding=\"{}\"><b>{}</b>", escaped(finding.id), escaped(&capital(&finding.title)))?;
    if let (Some(ns), Some(pct)) = (finding.gain_ns, finding.gain_pct) {
        write!(out, " <span class=\"gain\">saves {} · {pct:.1} %</span>", units::duration(ns.0))?;
    }
    writeln!(out, "\n<p>{}</p>", escaped(&sentence(finding.advice)))?;
    let caveat = finding.caveat.as_ref().map(|caveat| format!(": {caveat}")).unwrap_or_default();
    writeln!(
        out,
        "<p class=\"soft\">{} Confidence {}{}.</p>",
        escaped(&sentence(&finding.evidence.text)),
        finding.confidence.label(),
        escaped(&caveat)
    )?;
    let inputs = inputs(page);
    if let Some((place, cut)) = place(&finding.evidence, dossier) {
        write!(out, "<p><a class=\"evidence\" href=\"#{place}\">See it in the timeline</a>")?;
        if page.inputs.iter().all(|input| input.is_rewritable) {
            let inputs = escaped(&inputs);
            write!(out, " · for Perfetto: <code>gpuscope convert {inputs} {cut} -o evidence.json.gz</code>")?;
        }
        writeln!(out, "</p>")?;
    }
    writeln!(out, "<p><code>{} {}</code></p></li>", escaped(&finding.command), escaped(&inputs))
}

/// With a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let end = if text.is_empty() || text.ends_with('.') { "" } else { "." };
    format!("{}{end}", capital(text))
}

fn capital(text: &str) -> String {
    // Names of kernels and operators stay as they are.
    let word = text.split(' ').next().unwrap_or_default();
    if !word.chars().all(|c| c.is_ascii_lowercase()) {
        return text.to_owned();
    }
    let mut rest = text.chars();
    rest.next().map_or(String::new(), |first| first.to_uppercase().chain(rest).collect())
}

/// The address of the evidence in the timeline, with as much around it again on both sides, and what selects it.
fn place(evidence: &Evidence, dossier: &DossierAnswer) -> Option<(String, String)> {
    let picture = dossier.timeline.picture.as_ref()?;
    let rank = evidence.rank?;
    let drawn = picture.ranks.iter().find(|drawn| drawn.rank == rank)?;
    let (start, end) = match evidence.start_ns.zip(evidence.end_ns) {
        Some(time) => time,
        None => step(picture, *drawn, evidence.step?)?,
    };
    let (from, to) = ((start + drawn.shift).0, (end + drawn.shift).0);
    let around = (to - from).max(1_000);
    let address =
        format!("from={}&amp;to={}&amp;mark={from}..{to}&amp;group=rank+{rank}", from - around, to + around);
    let first = dossier.info.ranks.iter().find(|info| info.rank == rank)?.start_ns?;
    let cut = format!("--rank {rank} --from {} --to {}", (start - first).0, (end - first).0);
    Some((address, cut))
}

/// From when to when a step was, as its rank's file has it.
fn step(picture: &Picture, drawn: DrawnRank, number: i64) -> Option<(Ns, Ns)> {
    let (group, end) = (format!("rank {}", drawn.rank), format!("#{number}"));
    let is_its = |track: &&Track| track.sort == TrackSort::Steps && track.group == group;
    let lane = picture.tracks.iter().find(is_its)?.lanes.first()?;
    let place = lane.name.iter().position(|name| picture.names[*name as usize].ends_with(&end))?;
    Some((lane.start[place] - drawn.shift, lane.end[place] - drawn.shift))
}

/// What to give the command: the file, or the folder they all lie in.
fn inputs(page: &Page<'_>) -> String {
    let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    // Several ranks may come from one file.
    let mut paths: Vec<&str> = page.inputs.iter().map(|input| input.path.as_str()).collect();
    paths.dedup();
    match paths.as_slice() {
        [only] => text::one_line(only),
        [first, rest @ ..] => match folder(first) {
            Some(in_all) if rest.iter().all(|path| folder(path).as_ref() == Some(&in_all)) => {
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
            is_rewritable: true,
        };
        let tables = [table];
        let inputs = paths.iter().map(input).collect();
        let page = Page {
            command: "analyze",
            inputs,
            quality: &[],
            tables: &tables,
            figures: &[],
            lead: None,
            sentence: None,
        };
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
