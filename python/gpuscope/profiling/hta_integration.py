"""Holistic trace analysis of a job: how its GPUs spent their time, what holds them up and what to do."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuscope.profiling import _page
from gpuscope.profiling._host import CPU_TAKES_THE_GPUS_PLACE, host_findings, host_operators
from gpuscope.profiling._saving import format_of, save_answer, save_json, save_text

if TYPE_CHECKING:
    from gpuscope import Answer, Run

_SUFFIXES = {"html": ".html", "json": ".json", "md": ".md"}
_TOP_KERNELS = 10


@dataclass
class HTAReport:
    """Shares of the time of all ranks together, and what follows from them.

    ``top_kernels`` are dictionaries with ``name``, ``time_us``, ``count``, ``pct`` and ``kernel_type``. Where
    no GPU took part, ``device`` is ``"cpu"``, operators of the CPU stand for kernels, the time outside of
    operators is the idle time, and ``notes`` says so.
    """

    gpu_idle_time_pct: float = 0.0
    compute_time_pct: float = 0.0
    communication_time_pct: float = 0.0
    memcpy_time_pct: float = 0.0
    top_kernels: list[dict[str, Any]] = field(default_factory=list)
    recommendations: list[str] = field(default_factory=list)
    bottlenecks: list[str] = field(default_factory=list)
    ranks: list[dict[str, Any]] = field(default_factory=list)
    device: str = "gpu"
    notes: list[str] = field(default_factory=list)
    answer: Answer | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """All numbers as plain values that ``json.dumps`` takes."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "answer"}

    def to_markdown(self) -> str:
        """The report in Markdown."""
        lines = ["# Holistic trace analysis", "", "| share of the time | % |", "|---|---:|"]
        lines += [f"| {what} | {share:.1f} |" for what, share in self._shares()]
        lines += [
            "",
            f"## {self._kernels_title()}",
            "",
            "| time µs | % | count | name |",
            "|---:|---:|---:|---|",
        ]
        for kernel in self.top_kernels:
            name = kernel["name"].replace("|", "\\|")
            lines.append(f"| {kernel['time_us']:.1f} | {kernel['pct']:.1f} | {kernel['count']} | `{name}` |")
        for title, texts in self._sentences():
            if texts:
                lines += ["", f"## {title}", "", *(f"- {text}" for text in texts)]
        return "\n".join(lines) + "\n"

    def to_html(self) -> str:
        """The report as a plain page; ``export_report`` writes a fuller one where a GPU took part."""
        kernels = [
            [kernel["time_us"], kernel["pct"], kernel["count"], kernel["name"]] for kernel in self.top_kernels
        ]
        return _page.page(
            "Holistic trace analysis",
            _page.table(["share of the time", "%"], self._shares()),
            _page.section(self._kernels_title(), _page.table(["time µs", "%", "count", "name"], kernels)),
            *(_page.section(title, _page.bullets(texts)) for title, texts in self._sentences()),
        )

    def _shares(self) -> list[tuple[str, float]]:
        return [
            ("computation", self.compute_time_pct),
            ("communication, exposed", self.communication_time_pct),
            ("copies, exposed", self.memcpy_time_pct),
            ("idle", self.gpu_idle_time_pct),
        ]

    def _kernels_title(self) -> str:
        return "Largest operators" if self.device == "cpu" else "Largest kernels"

    def _sentences(self) -> list[tuple[str, list[str]]]:
        return [
            ("Bottlenecks", self.bottlenecks),
            ("Recommendations", self.recommendations),
            ("Notes", self.notes),
        ]


class HTAAnalyzer:
    """Analyses traces of one rank or of a whole job.

    With an ``output_dir`` each analysis also leaves its report there, as ``NAME.hta.html`` and
    ``NAME.hta.json``.
    """

    def __init__(self, output_dir: str | Path | None = None) -> None:
        """Set where reports are left, if anywhere."""
        self.output_dir = Path(output_dir) if output_dir is not None else None

    def analyze_trace(self, path: str | Path) -> HTAReport:
        """The report of a trace file, or of a folder with one trace per rank."""
        import gpuscope

        report = self.analyze_run(gpuscope.open(path))
        if self.output_dir is not None:
            name = Path(path).name.removesuffix(".gz").removesuffix(".zst").removesuffix(".json") or "trace"
            for suffix in ("html", "json"):
                self.export_report(report, self.output_dir / f"{name}.hta.{suffix}")
        return report

    def analyze_run(self, run: Run) -> HTAReport:
        """The report of traces that are open already."""
        answer = run.hta()
        data = answer.data
        report = HTAReport(
            gpu_idle_time_pct=data["gpu_idle_time_pct"],
            compute_time_pct=data["compute_time_pct"],
            communication_time_pct=data["communication_time_pct"],
            memcpy_time_pct=data["memcpy_time_pct"],
            top_kernels=[_kernel(row) for row in data["top_kernels"]],
            recommendations=list(data["recommendations"]),
            bottlenecks=list(data["bottlenecks"]),
            ranks=list(data["ranks"]),
            notes=[entry["message"] for entry in answer.quality if entry["severity"] != "info"],
            answer=answer,
        )
        if all(rank["window_ns"] == 0 for rank in report.ranks):
            _let_the_cpu_stand_in(report, run)
        return report

    def export_report(self, report: HTAReport, path: str | Path, format: str | None = None) -> Path:
        """Write the report as ``html``, ``json`` or ``md``; without ``format`` the path's ending decides."""
        path = Path(path)
        chosen = format_of(path, format, _SUFFIXES)
        if chosen == "json":
            return save_json(report.to_dict(), path)
        if chosen == "md":
            return save_text(report.to_markdown(), path)
        if report.answer is None or report.device == "cpu":
            return save_text(report.to_html(), path)
        return save_answer(report.answer, path, _SUFFIXES[chosen])


def _kernel(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": row["name"],
        "time_us": row["time_ns"] / 1000,
        "count": row["count"],
        "pct": row["pct"],
        "kernel_type": row["kernel_type"],
    }


def _let_the_cpu_stand_in(report: HTAReport, run: Run) -> None:
    ranks = run.timeline().data["ranks"]
    total_ns = sum(rank["total_ns"] for rank in ranks)
    active_ns = sum(rank["cpu_active_ns"] for rank in ranks)
    operators = host_operators(run)
    own_ns = sum(operator.own_ns for operator in operators)
    report.device = "cpu"
    report.notes.insert(0, CPU_TAKES_THE_GPUS_PLACE)
    report.communication_time_pct = report.memcpy_time_pct = 0.0
    report.compute_time_pct = 100 * active_ns / total_ns if total_ns else 0.0
    report.gpu_idle_time_pct = 100 - report.compute_time_pct if total_ns else 0.0
    report.top_kernels = [
        {
            "name": operator.name,
            "time_us": operator.own_us,
            "count": operator.calls,
            "pct": 100 * operator.own_ns / own_ns if own_ns else 0.0,
            "kernel_type": "CPU",
        }
        for operator in operators[:_TOP_KERNELS]
    ]
    found = host_findings(operators, active_ns, total_ns)
    report.bottlenecks = [finding.bottleneck for finding in found]
    report.recommendations = [finding.advice for finding in found]
